import { Command, Option } from 'commander';

import { InvalidSettingFault } from '../pkg/config/index.js';
import type { LogFormat, LogLevel } from '../pkg/log/index.js';

/** The flags of `moor bridge`. */
export interface BridgeFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: readonly string[];
  readonly secret: readonly string[];
  readonly resync: number;
  readonly leaseNamespace?: string;
  readonly server?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly metricsListen?: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

/** A namespace, and the tenant that it belongs to. Undefined: the tenant of the token. */
export interface NamespaceOption {
  readonly namespace: string;
  readonly tenant: string | undefined;
}

export interface SecretOption {
  readonly namespace: string;
  readonly name: string;
  /** `<namespace>/<label>` in Mooring's secrets store. */
  readonly path: string;
}

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const TENANT = /^[0-9a-f-]{36}$/;
const PATH = /^[a-z0-9-]{1,64}\/[A-Za-z0-9._-]{1,128}$/;

/** Reads the arguments. Undefined when they asked for help and got it. */
export function readBridgeFlags(argv: readonly string[]): BridgeFlags | undefined {
  const collect = (text: string, before: readonly string[]) => [...before, text];
  const program = new Command('moor bridge')
    .description('Mirrors objects of a Kubernetes cluster into Mooring, and their status and events back.')
    .option(
      '--kubeconfig <path>',
      'how to reach the cluster; default: KUBECONFIG, ~/.kube/config, or the Pod it runs in',
    )
    .option('--context <name>', 'the context of the kubeconfig; default: its current one')
    .option(
      '--namespace <ns[=tenant]>',
      'mirror this namespace, into this tenant or that of the token; repeatable',
      collect,
      [],
    )
    .option(
      '--secret <ns/name=path>',
      'copy this Secret to <namespace>/<label> of the secrets store; repeatable',
      collect,
      [],
    )
    .option('--resync <seconds>', 'how often everything is compared', Number, 300)
    .option('--lease-namespace <ns>', 'where the lease of the leader is; default: the first namespace by name')
    .option('--server <url>', 'address of the API server (MOORING_SERVER)')
    .option('--token-file <path>', 'file that holds the token of the bridge (MOORING_TOKEN, MOORING_TOKEN_FILE)')
    .option('--ca-file <path>', 'certificate authority of the server (MOORING_CA_FILE)')
    .option('--metrics-listen <host:port>', 'serve /metrics there')
    .addOption(new Option('--log-level <level>').choices(['error', 'warn', 'info', 'debug']).default('info'))
    .addOption(new Option('--log-format <format>').choices(['json', 'pretty']).default('json'))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  try {
    program.parse(argv, { from: 'user' });
  } catch (thrown) {
    const { exitCode, message } = thrown as { readonly exitCode?: number; readonly message: string };
    if (exitCode === 0) return undefined;
    throw new InvalidSettingFault(message);
  }
  const flags = program.opts<BridgeFlags>();
  if (program.args.length > 0) throw new InvalidSettingFault(`"${program.args[0]}" is not an option of moor bridge`);
  if (!Number.isInteger(flags.resync) || flags.resync < 1 || flags.resync > 86_400) {
    throw new InvalidSettingFault('--resync must be a number of seconds from 1 to 86400');
  }
  return flags;
}

/** `team=0b5c…` or `team`. */
export function readNamespaces(texts: readonly string[]): readonly NamespaceOption[] {
  if (texts.length === 0) throw new InvalidSettingFault('name what to mirror: --namespace NAMESPACE=TENANT');
  const all = texts.map(text => {
    const [namespace = '', tenant, ...more] = text.split('=');
    if (!NAME.test(namespace) || more.length > 0 || (tenant !== undefined && !TENANT.test(tenant))) {
      throw new InvalidSettingFault(
        `--namespace ${text}: write it as NAMESPACE=TENANT, where TENANT is the id of a tenant`,
      );
    }
    return { namespace, tenant };
  });
  return checkApart(all);
}

/** Two namespaces in one tenant would have two objects of one name. Asked again when the tenant of the token is known. */
export function checkApart<T extends NamespaceOption>(all: readonly T[]): readonly T[] {
  if (isTwice(all.map(({ namespace }) => namespace)) || isTwice(all.map(({ tenant }) => tenant))) {
    throw new InvalidSettingFault('--namespace: each namespace has a tenant of its own, and each tenant one namespace');
  }
  return all;
}

function isTwice(values: readonly unknown[]): boolean {
  return new Set(values).size < values.length;
}

/** `team/database=shop/database`. */
export function readSecrets(texts: readonly string[], namespaces: readonly NamespaceOption[]): readonly SecretOption[] {
  const all = texts.map(text => {
    const [source = '', path = '', ...more] = text.split('=');
    const [namespace = '', name = '', ...deeper] = source.split('/');
    if (!NAME.test(name) || !PATH.test(path) || more.length + deeper.length > 0) {
      throw new InvalidSettingFault(
        `--secret ${text}: write it as NAMESPACE/NAME=PATH, such as team/database=shop/database`,
      );
    }
    if (!namespaces.some(each => each.namespace === namespace)) {
      throw new InvalidSettingFault(`--secret ${text}: ${namespace} is not mirrored; name it with --namespace`);
    }
    return { namespace, name, path };
  });
  const isAmbiguous =
    isTwice(all.map(({ namespace, name }) => `${namespace}/${name}`)) ||
    isTwice(all.map(({ namespace, path }) => `${namespace}=${path}`));
  if (isAmbiguous) throw new InvalidSettingFault('--secret: each Secret has one path, and each path one Secret');
  return all;
}
