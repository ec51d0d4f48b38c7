// Package main runs the API server or the controller manager of Kubernetes, named by its first argument.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: cluster apiserver|manager <flags>")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	switch part {
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "manager":
		os.Exit(cli.Run(manager.NewControllerManagerCommand()))
	}
	fmt.Fprintln(os.Stderr, "unknown part "+part)
	os.Exit(2)
}
