// A real Vault server in memory on loopback, with KV and AppRole, for the contract suite of pkg/secrets:
//
//	go build -C hack/vault -o ../../.cache/bao .
//
// It takes the arguments of a development server of Vault or OpenBao, and ends with its standard input; and those of
// the few commands with which an operator prepares it for Mooring.
package main

import (
	"flag"
	"io"
	"log"
	"net"
	"os"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/helper/namespace"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/vault"
	"github.com/mitchellh/go-testing-interface"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] != "server" {
		operate(os.Args[1:])
		return
	}
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	flags.Bool("dev", true, "always so")
	root := flags.String("dev-root-token-id", "root", "the root token")
	address := flags.String("dev-listen-address", "127.0.0.1:8200", "where to listen")
	flags.Parse(os.Args[2:])

	core, _, token := vault.TestCoreUnsealedWithConfig(&testing.RuntimeT{}, &vault.CoreConfig{
		Logger:             hclog.NewNullLogger(),
		LogicalBackends:    map[string]logical.Factory{"kv": kv.Factory},
		CredentialBackends: map[string]logical.Factory{"approle": approle.Factory},
	})
	_, err := core.HandleRequest(namespace.RootContext(nil), &logical.Request{
		Operation:   logical.UpdateOperation,
		Path:        "auth/token/create",
		ClientToken: token,
		Data:        map[string]interface{}{"id": *root, "policies": []string{"root"}, "no_parent": true},
	})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	vaulthttp.TestServerWithListener(nil, listener, *address, core)
	io.Copy(io.Discard, os.Stdin)
}
