// crd-check puts custom resource definitions to the validation that a Kubernetes API server puts them to, and objects to
// the schemas and the CEL rules of the definitions.
//
// Usage: crd-check [-objects <file.json>] <definition.yaml>...
//
// The file holds a list of objects. For each, one line is printed: accepted, or what it is refused for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	objects "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	limits "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

func read(path string) (*apiextensions.CustomResourceDefinition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var written v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &written); err != nil {
		return nil, err
	}
	v1.SetDefaults_CustomResourceDefinition(&written)
	v1.SetDefaults_CustomResourceDefinitionSpec(&written.Spec)
	var known apiextensions.CustomResourceDefinition
	if err := v1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&written, &known, nil); err != nil {
		return nil, err
	}
	if err := validation.ValidateCustomResourceDefinition(context.Background(), &known).ToAggregate(); err != nil {
		return nil, err
	}
	return &known, nil
}

// judge says why an object is refused; nil when it is accepted.
func judge(definition *apiextensions.CustomResourceDefinition, object map[string]interface{}) error {
	declared, err := apiextensions.GetSchemaForVersion(definition, definition.Spec.Versions[0].Name)
	if err != nil {
		return err
	}
	structural, err := schema.NewStructural(declared.OpenAPIV3Schema)
	if err != nil {
		return err
	}
	shape, _, err := objects.NewSchemaValidator(declared.OpenAPIV3Schema)
	if err != nil {
		return err
	}
	if found := objects.ValidateCustomResource(nil, object, shape); len(found) > 0 {
		return found.ToAggregate()
	}
	rules := cel.NewValidator(structural, true, limits.PerCallLimit)
	found, _ := rules.Validate(context.Background(), nil, structural, object, nil, limits.RuntimeCELCostBudget)
	return found.ToAggregate()
}

func judgeAll(path string, definitions map[string]*apiextensions.CustomResourceDefinition) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list []map[string]interface{}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, object := range list {
		definition := definitions[fmt.Sprint(object["kind"])]
		if definition == nil {
			return fmt.Errorf("there is no definition of %v", object["kind"])
		}
		if err := judge(definition, object); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("accepted")
		}
	}
	return nil
}

func main() {
	path := flag.String("objects", "", "a file with objects to judge")
	flag.Parse()
	definitions := map[string]*apiextensions.CustomResourceDefinition{}
	failed := false
	for _, file := range flag.Args() {
		known, err := read(file)
		if err != nil {
			fmt.Printf("%s: %v\n", file, err)
			failed = true
			continue
		}
		definitions[known.Spec.Names.Kind] = known
	}
	if failed {
		os.Exit(1)
	}
	if *path == "" {
		fmt.Printf("%d accepted\n", len(definitions))
	} else if err := judgeAll(*path, definitions); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
