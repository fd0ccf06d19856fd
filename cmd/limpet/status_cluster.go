package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// replicaStatus is what a replica says, or why it says nothing.
type replicaStatus struct {
	Replica string        `json:"replica"`
	Status  *serve.Status `json:"status,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// runInCluster asks all replicas.
func (sc *statusCommand) runInCluster(ctx context.Context, to io.Writer) error {
	replicas, err := sc.askReplicas(ctx)
	if err != nil {
		return err
	}
	var answers serve.Statuses
	for _, r := range replicas {
		if r.Status != nil {
			answers = append(answers, *r.Status)
		}
	}
	if sc.isForProgram() {
		err = printValue(to, sc.output, map[string][]replicaStatus{"replicas": replicas})
	} else {
		err = printReplicas(to, replicas, answers, sc.output == "wide")
	}
	if err == nil && (len(answers) < len(replicas) || !answers.IsComplete()) {
		return errRefused
	}
	return err
}

func (sc *statusCommand) askReplicas(ctx context.Context) (all []replicaStatus, err error) {
	of, replicas, err := sc.cluster.findReplicas(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range replicas {
		one := replicaStatus{Replica: r.String(), Status: &serve.Status{}}
		if err := askReplica(ctx, of, r, "/status", one.Status); err != nil {
			one.Status, one.Error = nil, err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

// printReplicas prints what each replica says. A Gateway has no Envoy where none is connected to any of them.
func printReplicas(to io.Writer, replicas []replicaStatus, answers serve.Statuses, wide bool) error {
	for i, r := range replicas {
		if i > 0 {
			fmt.Fprintln(to)
		}
		fmt.Fprintf(to, "Pod %s:\n", r.Replica)
		if r.Status == nil {
			fmt.Fprintf(to, "no answer: %s\n", message.MakePrintable(r.Error))
			continue
		}
		s := *r.Status
		s.Gateways = slices.DeleteFunc(slices.Clone(s.Gateways), func(g serve.GatewayStatus) bool {
			return !s.HasEnvoy(g.Gateway) && answers.HasEnvoy(g.Gateway)
		})
		if err := printStatus(to, s, wide); err != nil {
			return err
		}
	}
	return nil
}
