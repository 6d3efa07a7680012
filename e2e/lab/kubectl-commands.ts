import { referenceCommands } from './kubectl-reference.js';

/** A command of kubectl, and what it must come to. */
export interface KubectlCommand {
  /** What is typed after `kubectl`. */
  readonly words: string;
  readonly code: number;
  /** What must be printed. */
  readonly says: RegExp;
  /** Which line of it the documentation shows. */
  readonly shows: RegExp;
  /** Whose configuration; the tenant's own when it is left out. */
  readonly as?: 'viewer';
  /** A command that is run while this one waits. */
  readonly meanwhile?: string;
  /** What kubectl opens for an edit; by default it changes nothing. */
  readonly editor?: string;
  /** It does not do what kubectl expects of a server, and says why. */
  readonly isLimit?: true;
  /** A file that it reads. */
  readonly file?: { readonly name: string; readonly text: string };
}

const works = (words: string, says: RegExp, more: Partial<KubectlCommand> = {}): KubectlCommand => ({
  words,
  code: 0,
  says,
  shows: says,
  ...more,
});
const refused = (words: string, says: RegExp, more: Partial<KubectlCommand> = {}): KubectlCommand =>
  works(words, says, { code: 1, ...more });

const file = (name: string, spec: string) => ({
  file: {
    name,
    text: `apiVersion: mooring.io/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: ${spec}\n`,
  },
});
const first = file('shop.yaml', '{image: "registry.example.com/shop:1", replicas: 2}');
const second = file('shop2.yaml', '{image: "registry.example.com/shop:1", replicas: 4}');
const bad = file('bad.yaml', '{image: "registry.example.com/shop:1", replicas: -2, typo: 1}');

/** kubectl decodes these with the types that it was built with, and asks the server nothing more. */
const NO_TYPE = /no kind "Deployment" is registered for version "mooring\.io\/v1"/;

/** In the order in which they are run: each finds what those before it have left. */
export const commands: readonly KubectlCommand[] = [
  works('api-resources', /deployments +deploy,mdeploy +mooring\.io\/v1 +true +Deployment/),
  works('api-versions', /mooring\.io\/v1/),
  works('version', /Server Version: v1\.\d+\.0\+mooring-/),
  works('get namespaces', /<tenant> +lab +Active/),
  works('get networks', /No resources found in <tenant> namespace/),
  works('get deployments', /web +0\/2 +Pending/),
  works('get deploy web', /web +0\/2 +Pending/),
  works('get deploy -o wide', /NAME +READY +PHASE +AGE +IMAGE +GENERATION +UID +MESSAGE/),
  works('get deploy -o name', /deployment\.mooring\.io\/web/),
  works('get deploy -o json', /"kind": "Deployment"/),
  works('get deploy web -o yaml', /apiVersion: mooring\.io\/v1/),
  works("get deploy web -o 'jsonpath={.spec.replicas}'", /^2$/m),
  works('get deploy -o custom-columns=N:.metadata.name,I:.spec.image', /web +registry\.example\.com\/web:1/),
  works('get deploy -A --show-labels', /<tenant> +web .*app=web/),
  works('get deploy --sort-by=.metadata.name', /web +0\/2/),
  works('get deploy -l app=web --field-selector=metadata.name=web', /^web +0\/2/m),
  works('get mooring', /deployment\.mooring\.io\/web/),
  refused('get deploy nope', /Error from server \(NotFound\): deployments\.mooring\.io "nope" not found/),
  refused('get deploy -n <another tenant>', /Error from server \(Forbidden\): tenant_mismatch/),
  refused('get deploy -n globex', /Error from server \(Forbidden\): tenant_mismatch/),
  works('explain deployments.spec.image', /FIELD: image <string>/),
  works('explain deployments --recursive', /healthCheck/),
  works('auth whoami', /mooring\.io:token:/, { shows: /ATTRIBUTE/ }),
  works('auth can-i create deployments.mooring.io', /^yes$/m),
  refused('auth can-i create deployments.mooring.io', /^no$/m, { as: 'viewer' }),
  works('auth can-i --list', /deployments\.mooring\.io +\[\] +\[\] +\[get list watch create update patch delete\]/),
  works('create -f shop.yaml --dry-run=server', /deployment\.mooring\.io\/shop created \(server dry run\)/, first),
  refused('create -f shop.yaml', /Error from server \(Forbidden\)/, { ...first, as: 'viewer' }),
  refused('diff -f shop.yaml', /^\+kind: Deployment/m, first),
  works('apply -f shop.yaml', /deployment\.mooring\.io\/shop created/, first),
  works('apply -f shop.yaml', /deployment\.mooring\.io\/shop unchanged/, first),
  refused('diff -f shop2.yaml', /^\+ {2}replicas: 4/m, second),
  works('apply -f shop2.yaml --dry-run=server', /deployment\.mooring\.io\/shop configured \(server dry run\)/, second),
  works('apply -f shop2.yaml', /deployment\.mooring\.io\/shop configured/, second),
  refused('apply -f bad.yaml', /\* spec\.replicas: replicas_negative/, bad),
  refused('apply -f typo.yaml', /spec\.typo: field_unknown/, file('typo.yaml', '{replicas: 2, typo: 1}')),
  refused(
    'create -f badnew.yaml',
    /replicas_negative/,
    file('badnew.yaml', '{image: "registry.example.com/b:1", replicas: -2}'),
  ),
  refused(
    'apply -f shop.yaml --server-side',
    /conflict with "before-first-apply" using mooring\.io\/v1: \.spec\.replicas/,
    first,
  ),
  works('apply -f shop.yaml --server-side --force-conflicts', /shop serverside-applied/, first),
  works('apply -f shop.yaml --server-side', /shop serverside-applied/, first),
  refused('diff -f shop2.yaml --server-side', /^\+ {2}replicas: 4/m, second),
  works(
    'apply -f less.yaml --server-side',
    /shop serverside-applied/,
    file('less.yaml', '{image: "registry.example.com/shop:1"}'),
  ),
  works("get deploy shop --show-managed-fields -o 'jsonpath={.metadata.managedFields[*].manager}'", /kubectl/),
  works('patch deploy shop -p \'{"spec":{"replicas":3}}\'', /shop patched/),
  works('patch deploy shop --type=merge -p \'{"spec":{"replicas":1}}\'', /shop patched/),
  works(`patch deploy shop --type=json -p '[{"op":"replace","path":"/spec/replicas","value":2}]'`, /shop patched/),
  works('scale deploy shop --replicas=3', /shop scaled/),
  works('scale deploy shop --replicas=2 --current-replicas=3', /shop scaled/),
  refused('scale deploy shop --replicas=9999', /replicas_/),
  works('label deploy shop tier=front', /shop labeled/),
  works('get deploy -l tier=front -o name', /deployment\.mooring\.io\/shop/),
  works('annotate deploy shop note=hi', /shop annotated/),
  refused('edit deploy web', /deployments\.mooring\.io "web" is invalid/, {
    editor: "sed -i 's/replicas: 2/replicas: -2/'",
  }),
  works('edit deploy shop', /Edit cancelled, no changes made/),
  works('replace -f shop.yaml', /shop replaced/, first),
  works('wait deploy/shop --for=jsonpath={.spec.replicas}=2 --timeout=60s', /shop condition met/),
  works('describe deploy shop', /Normal +created .*deployment shop was created by/),
  works('events', /Normal +created +Deployment\/shop/),
  works('events --for=deployments.mooring.io/shop', /Normal +created +Deployment\/shop/),
  works('get events', /deployment\.created +deployment\/shop/),
  works('get events -A', /deployment\.created +deployment\/shop/),
  works('get pods', /^api-0 +1\/1 +Running +0/m),
  works('get pods -o wide', /^api-0 .*machine-1/m),
  works('get pods -l mooring.io/deployment=api -o name', /pod\/api-0/),
  works('get all', /^pod\/api-0 +1\/1/m),
  works('describe pod api-0', /Controlled By: +Deployment\/api[^]*Normal +placed .*replica 0 on machine-1/, {
    shows: /Normal +placed/,
  }),
  works('logs api-0', /^one\ntwo\nthree$/m, { shows: /^one/ }),
  works('logs api-0 --tail=1', /^three$/m),
  works('logs -f api-0 --since=1h', /^one\ntwo\nthree$/m, { shows: /^three/ }),
  works('logs -l mooring.io/deployment=api --tail=1', /^three$/m),
  refused('logs deploy/api', NO_TYPE, { isLimit: true }),
  refused('rollout status deploy/api', NO_TYPE, { isLimit: true }),
  refused('rollout history deploy/api', NO_TYPE, { isLimit: true }),
  refused('rollout undo deploy/api', NO_TYPE, { isLimit: true }),
  refused('rollout restart deploy/api', NO_TYPE, { isLimit: true }),
  refused('logs nope-0', /pods "nope-0" not found/),
  refused('exec api-0 -- ls', /exec_not_offered/, { isLimit: true }),
  refused('delete pod api-0', /MethodNotAllowed/),
  works('wait pod/api-0 --for=condition=Ready --timeout=60s', /pod\/api-0 condition met/),
  works('wait deploy/api --for=condition=Available --timeout=60s', /api condition met/),
  works('wait deploy/shop --for=delete --timeout=60s', /shop condition met/, {
    meanwhile: 'delete deploy shop --wait=false',
  }),
  works('wait deploy/shop --for=create --timeout=60s', /shop condition met/, { meanwhile: 'create -f shop.yaml' }),
  works('delete -f shop.yaml', /"shop" deleted/, first),
  refused('delete deploy nope', /deployments\.mooring\.io "nope" not found/),
  works('delete deploy nope --ignore-not-found', /^$/),
];

/** What a command was answered. */
export interface KubectlAnswer {
  readonly command: KubectlCommand;
  /** `-`: it goes on until it is ended. */
  readonly code: number | '-';
  readonly line: string;
}

/** How many of the commands of the reference do what kubectl expects. */
export function countReference(answers: readonly KubectlAnswer[]): string {
  const left = [...answers];
  const found = referenceCommands.map(([, words]) => {
    const at = left.findIndex(({ command }) => command.words === words);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  });
  const missing = referenceCommands.filter((_, at) => !found[at]).map(([tried]) => tried);
  if (missing.length > 0) throw new Error(`not run: ${missing.join(', ')}`);
  const limits = found.filter(answer => answer?.command.isLimit).length;
  return `${found.length - limits} of ${found.length} do what kubectl expects, and ${limits} say why not`;
}

/** `docs/KUBECTL.md`: every command with what it was answered. */
export function renderTable(answers: readonly KubectlAnswer[]): string {
  const rows = answers.map(
    ({ command: { words, as, isLimit }, code, line }) =>
      `| \`${escape(words)}\`${as ? ' by a viewer' : ''} | ${code}${isLimit ? ', a limit' : ''} | \`${escape(line)}\` |`,
  );
  return [
    '# kubectl',
    '',
    'What kubectl does with Mooring: each command was run by `e2e/stories/kubectl.deep.test.ts`, which also wrote this table, and answered as it shows. How the face works, what it keeps for its clients, and what it leaves out, is in',
    '[ADR 55](adr/0055-kubernetes-api.md).',
    '',
    '```sh',
    'moor kubeconfig > mooring.kubeconfig',
    'kubectl --kubeconfig mooring.kubeconfig get deployments',
    '```',
    '',
    'A namespace is a tenant, by its id; a token of a tenant has that one. `kubectl` is the one of Kubernetes 1.32. The examples are there as objects too: `kubectl apply -f examples/kubernetes`.',
    '',
    'Not served are kinds that one word within a tenant does not name, or that are no records: secrets, rotations, archives, tokens, quotas and recommendations. `moor` shows them.',
    '',
    '`rollout`, `set image` and `logs deploy/NAME` work on the types that kubectl was built with, and fail there. `wait --for=condition=Available deploy/NAME`, `patch` and `logs -l mooring.io/deployment=NAME` do the same; `moor rollout undo` goes back.',
    '',
    'A watch ends with its server. `kubectl get -w` then ends too, with exit code 0, and the list that it begins with when it is started again shows what has changed meanwhile. An informer of `@kubernetes/client-node` goes on from the version that it has seen, without a gap: `e2e/stories/kubernetes-informer.deep.test.ts` kills the server ten times under one, and deletes objects while it is down. The official client for Python works too: `e2e/stories/kubernetes-python.deep.test.ts` lists, gets, creates, patches, watches, deletes and reads logs with it.',
    '',
    'Jobs, networks and volumes are not changed, except for the size of a volume, and their files are compared with what is stored. The same file again is therefore refused (`field_immutable`) where the server has completed or replaced what it says: lists (`secrets`, `volumes`) without their defaults or with `values`, and a job’s `nodeId` by name. Such a file is written as `kubectl get -o yaml` shows the spec. `primaryNode` of a volume is reported as `status.node`, and is taken out of the file once the volume is there.',
    '',
    `Of the commands that kubectl was tried with elsewhere, ${countReference(answers)}: those are marked as limits.`,
    '',
    '| `kubectl …` | exit code | it answers, among others |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/ {2,}/g, ' ');
}
