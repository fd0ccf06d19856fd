package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
)

// replicaFlags say in which cluster limpet serve runs that is asked.
type replicaFlags struct {
	kubeconfig, context, namespace string
	port                           int
}

func (f *replicaFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "ask all replicas in a cluster, which `FILE` says how to reach")
	flags.StringVar(&f.context, "context", "", "the same, with the context `NAME` of that file, or of kubectl's")
	flags.StringVarP(&f.namespace, "namespace", "n", "",
		"limpet's own `NAMESPACE` there (default \""+compiler.DefaultClassPolicyNamespace+"\")")
}

// isWanted tells whether a cluster is to be asked.
func (f *replicaFlags) isWanted() bool {
	return f.kubeconfig != "" || f.context != "" || isPlugin(os.Args[0])
}

// checkFlags takes the port of their --admin from an address.
func (f *replicaFlags) checkFlags(admin string) (err error) {
	switch {
	case f.namespace != "" && !f.isWanted():
		return usagef("--namespace needs --kubeconfig or --context: it is that of limpet's Pods in a cluster")
	case f.isWanted() && !isLoopback(admin):
		return usagef("--admin %s: in a cluster limpet's Pods are asked, each at a loopback address of its own, such as %s; "+
			"'limpet status' without a cluster asks at any address", admin, defaultServeAdmin)
	}
	_, port, _ := net.SplitHostPort(admin)
	f.port, err = strconv.Atoi(port)
	return err
}

// askWithin is how long finding replicas may take, and the answer of each.
const askWithin = 10 * time.Second

// findReplicas finds the replicas.
func (f *replicaFlags) findReplicas(ctx context.Context) (*kubernetes.Replicas, []kubernetes.Replica, error) {
	config, _, err := connect(f.kubeconfig, f.context)
	if err != nil {
		return nil, nil, err
	}
	config.Timeout = askWithin
	of := &kubernetes.Replicas{
		Config:    config,
		Port:      f.port,
		Namespace: cmp.Or(f.namespace, compiler.DefaultClassPolicyNamespace),
	}
	all, err := findReplicas(ctx, of)
	return of, all, err
}

// findReplicas finds replicas, of which there must be one.
func findReplicas(ctx context.Context, of *kubernetes.Replicas) ([]kubernetes.Replica, error) {
	ctx, stop := context.WithTimeout(ctx, askWithin)
	defer stop()
	all, err := of.List(ctx)
	err = explainAPIServer(of.Config.Host, err)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no Pod in the namespace %s has the labels of limpet's chart, %s",
			of.Namespace, kubernetes.ReplicaLabels)
	}
	return all, err
}

// askReplica reads what a page of a replica's --admin says, which is JSON.
func askReplica(ctx context.Context, of *kubernetes.Replicas, r kubernetes.Replica, page string, answer any) error {
	ctx, stop := context.WithTimeout(ctx, askWithin)
	defer stop()
	text, err := of.Get(ctx, r, page)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}
