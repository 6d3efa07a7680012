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

/** In the order in which they are run: each finds what those before it have left. */
export const commands: readonly KubectlCommand[] = [
  works('api-resources', /deployments +deploy,mdeploy +mooring\.io\/v1 +true +Deployment/),
  works('api-versions', /mooring\.io\/v1/),
  works('version', /Server Version: v1\.\d+\.0\+mooring-/),
  works('get namespaces', /<tenant> +lab +Active/),
  works('get deployments', /web +0\/2 +Pending/),
  works('get deploy web', /web +0\/2 +Pending/),
  works('get deploy -o wide', /NAME +READY +PHASE +AGE +IMAGE +GENERATION +UID +MESSAGE/),
  works('get deploy -o name', /deployment\.mooring\.io\/web/),
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
  works('apply -f shop.yaml', /deployment\.mooring\.io\/shop created/, first),
  works('apply -f shop.yaml', /deployment\.mooring\.io\/shop configured/, first),
  refused('diff -f shop2.yaml', /^\+ {2}replicas: 4/m, second),
  works('apply -f shop2.yaml --dry-run=server', /deployment\.mooring\.io\/shop configured \(server dry run\)/, second),
  works('apply -f shop2.yaml', /deployment\.mooring\.io\/shop configured/, second),
  refused('apply -f bad.yaml', /\* spec\.replicas: replicas_negative/, bad),
  refused('apply -f shop.yaml --server-side', /server-side apply is not offered/, first),
  works('patch deploy shop -p \'{"spec":{"replicas":3}}\'', /shop patched/),
  works('patch deploy shop --type=merge -p \'{"spec":{"replicas":1}}\'', /shop patched/),
  works(`patch deploy shop --type=json -p '[{"op":"replace","path":"/spec/replicas","value":2}]'`, /shop patched/),
  works('scale deploy shop --replicas=3', /shop scaled/),
  works('scale deploy shop --replicas=2 --current-replicas=3', /shop scaled/),
  refused('scale deploy shop --replicas=9999', /replicas_/),
  works('label deploy shop tier=front', /shop labeled/),
  works('get deploy -l tier=front -o name', /deployment\.mooring\.io\/shop/),
  works('edit deploy shop', /Edit cancelled, no changes made/),
  works('replace -f shop.yaml', /shop replaced/, first),
  works('wait deploy/shop --for=jsonpath={.spec.replicas}=2 --timeout=60s', /shop condition met/),
  works('describe deploy shop', /Normal +created .*deployment shop was created by/),
  works('events --for=deployments.mooring.io/shop', /Normal +created +Deployment\/shop/),
  works('get events', /deployment\.created +deployment\/shop/),
  works('get events -A', /deployment\.created +deployment\/shop/),
  works('delete -f shop.yaml --wait=false', /"shop" deleted/, first),
  refused('delete deploy nope', /deployments\.mooring\.io "nope" not found/),
  works('delete deploy nope --ignore-not-found', /^$/),
];

/** `docs/KUBECTL.md`: every command with what it was answered. */
export function renderTable(
  answers: readonly { readonly command: KubectlCommand; readonly code: number; readonly line: string }[],
): string {
  const rows = answers.map(
    ({ command: { words, as }, code, line }) =>
      `| \`${escape(words)}\`${as ? ' by a viewer' : ''} | ${code} | \`${escape(line)}\` |`,
  );
  return [
    '# kubectl',
    '',
    'What kubectl does with Mooring: each command was run by `e2e/stories/kubectl.test.ts`, which also wrote this table, and answered as it shows. How the face works, and what it leaves out, is in',
    '[ADR 55](adr/0055-the-kubernetes-face-is-a-translation.md).',
    '',
    '```sh',
    'moor kubeconfig > mooring.kubeconfig',
    'kubectl --kubeconfig mooring.kubeconfig get deployments',
    '```',
    '',
    'A namespace is a tenant, by its id; a token of a tenant has that one. `kubectl` is the one of Kubernetes 1.32.',
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
