package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
)

const releaseClassesHelp = `release-classes lets limpet's GatewayClasses be deleted while Gateways name them. It is
what the chart runs before it is uninstalled: once no limpet runs, nobody lets them go.`

// newReleaseClasses is "limpet release-classes".
func newReleaseClasses() *cobra.Command {
	var of clusterFlags
	c := &cobra.Command{
		Use: "release-classes", Hidden: true, Args: noArgs,
		Short: "Let limpet's GatewayClasses be deleted while Gateways name them",
		Long:  releaseClassesHelp,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := of.load()
			if err != nil {
				return err
			}
			client, err := dynamic.NewForConfig(config)
			if err != nil {
				return err
			}
			return releaseClasses(c.Context(), client, of.controller, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
		},
	}
	flags := c.Flags()
	flags.StringVar(
		&of.kubeconfig,
		"kubeconfig",
		"",
		"`FILE` that says how to reach an API server; without it, in a Pod, that of its cluster",
	)
	flags.StringVar(&of.controller, "controller-name", string(v1alpha1.ControllerName),
		"the controllerName (`NAME`) of limpet's GatewayClasses")
	return c
}

// releaseClasses releases each GatewayClass by itself: an error with one stops no other.
func releaseClasses(ctx context.Context, client dynamic.Interface, controller string, log *slog.Logger) (failed error) {
	list, err := client.Resource(kubernetes.ClassResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		class := &gatewayv1.GatewayClass{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, class); err != nil ||
			string(class.Spec.ControllerName) != controller {
			continue // another controller's
		}
		if err := kubernetes.ReleaseClass(ctx, client, class); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		log.Info("the GatewayClass can be deleted", "class", class.Name)
	}
	return failed
}
