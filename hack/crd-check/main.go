// crd-check puts custom resource definitions to the validation that a Kubernetes API server puts them to.
//
// Usage: crd-check <file.yaml>...
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var written v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &written); err != nil {
		return err
	}
	v1.SetDefaults_CustomResourceDefinition(&written)
	v1.SetDefaults_CustomResourceDefinitionSpec(&written.Spec)
	var known apiextensions.CustomResourceDefinition
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&written, &known, nil); err != nil {
		return err
	}
	return validation.ValidateCustomResourceDefinition(context.Background(), &known).ToAggregate()
}

func main() {
	failed := false
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Printf("%s: %v\n", path, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
	fmt.Printf("%d accepted\n", len(os.Args)-1)
}
