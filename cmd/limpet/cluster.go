package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/limpet-proxy/limpet/internal/message"
)

// connect reads from a kubeconfig, or where kubectl looks for one, how to reach the API server, and the context's
// namespace.
func connect(kubeconfig, context string) (config *rest.Config, namespace string, err error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	if kubeconfig == "" {
		rules = clientcmd.NewDefaultClientConfigLoadingRules()
	}
	from := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules,
		&clientcmd.ConfigOverrides{CurrentContext: context},
	)
	has, err := from.RawConfig()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("--kubeconfig %s: there is no such file", kubeconfig)
	case err == nil && context != "" && has.Contexts[context] == nil:
		return nil, "", fmt.Errorf("--context %q: there is no such context; there are: %s", context,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(has.Contexts)), ", "), "none"))
	}
	if config, err = from.ClientConfig(); clientcmd.IsEmptyConfig(err) {
		return nil, "", errors.New("no cluster is named: kubectl's own file has none; name a file with --kubeconfig")
	} else if err != nil {
		return nil, "", err
	}
	setClient(config)
	namespace, _, err = from.Namespace()
	return config, namespace, err
}

// setClient sets the user agent, and no rate limit: the API server has its own flow control.
func setClient(config *rest.Config) { config.QPS, config.UserAgent = -1, "limpet/"+programVersion() }

// explainAPIServer names the API server in errors of requests without an answer. Errors that it answers stay as they
// are.
func explainAPIServer(host string, err error) error {
	var unanswered *url.Error
	if !errors.As(err, &unanswered) {
		return err
	}
	return fmt.Errorf("the API server %s does not answer: %w", host, message.Unanswered(unanswered))
}
