package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/hashicorp/vault/api"
)

// operate does what the commands of Vault's own program do that docs/how-to/vault.md has, in the same words, as
// VAULT_ADDR and VAULT_TOKEN say. Anything else is refused.
func operate(arguments []string) {
	client, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	words := []string{}
	for len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") && len(words) < 2 {
		words, arguments = append(words, arguments[0]), arguments[1:]
		if words[0] == "read" || words[0] == "write" {
			break
		}
	}
	flags := flag.NewFlagSet(strings.Join(words, " "), flag.ExitOnError)
	path := flags.String("path", "", "where it is mounted")
	version := flags.String("version", "", "of the engine")
	field := flags.String("field", "", "what is printed")
	flags.Bool("f", false, "write without values")
	flags.Parse(arguments)
	rest := flags.Args()
	switch command := flags.Name(); {
	case command == "secrets enable" && len(rest) == 1 && *path != "":
		err = client.Sys().Mount(*path, &api.MountInput{Type: rest[0], Options: map[string]string{"version": *version}})
	case command == "auth enable" && len(rest) == 1:
		err = client.Sys().EnableAuthWithOptions(rest[0], &api.EnableAuthOptions{Type: rest[0]})
	case command == "policy write" && len(rest) == 2:
		var rules []byte
		if rules, err = os.ReadFile(rest[1]); err == nil {
			err = client.Sys().PutPolicy(rest[0], string(rules))
		}
	case command == "read" && len(rest) == 1:
		var answer *api.Secret
		if answer, err = client.Logical().Read(rest[0]); err == nil {
			show(answer, *field)
		}
	case command == "write" && len(rest) > 0:
		var answer *api.Secret
		if answer, err = client.Logical().Write(rest[0], values(rest[1:])); err == nil && *field != "" {
			show(answer, *field)
		}
	default:
		log.Fatalf("%q is not known here", os.Args[1:])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func values(pairs []string) map[string]interface{} {
	found := map[string]interface{}{}
	for _, pair := range pairs {
		key, value, isPair := strings.Cut(pair, "=")
		if !isPair {
			log.Fatalf("%q is not key=value", pair)
		}
		found[key] = value
	}
	return found
}

func show(answer *api.Secret, field string) {
	if answer == nil || answer.Data[field] == nil {
		log.Fatalf("there is no field %q", field)
	}
	fmt.Print(answer.Data[field])
}
