import { readFileSync } from 'node:fs';

import { exitCode, UsageFault } from '../../terminal/index.js';
import { tenants } from '../kinds.js';
import { formatDocument } from '../print/text.js';
import type { Command } from '../session.js';
import type { StoredTenant } from '../../../crds/tenant/index.js';

/** Where a server answers Kubernetes' clients. */
const FACE = '/k8s';

/** Prints a kubeconfig for the server and the token in use. It holds the token, so it is worth as much as that. */
export const kubeconfig: Command<Record<never, never>> = async session => {
  const { server, token, caFile, tenant } = await session.findConnection();
  if (token === undefined) throw new UsageFault('no token is known. Name one with --token-file or MOORING_TOKEN.');
  const address = new URL(server);
  if (address.protocol !== 'https:' && caFile === undefined) {
    throw new UsageFault(
      `kubectl sends no token over plain HTTP. Name the server with --server https://${address.host}, and its authority with --ca-file.`,
    );
  }
  address.protocol = 'https:';
  address.pathname = FACE;
  const client = await session.connect();
  const answer = await client.request<StoredTenant>('GET', tenants.pathOf(tenant ?? 'self'));
  if (!answer.ok) return session.reportRejection(answer);

  const { id, name } = answer.value;
  const authority = caFile === undefined ? {} : { 'certificate-authority-data': readFileSync(caFile, 'base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'mooring', cluster: { server: address.href, ...authority } }],
    users: [{ name: 'mooring', user: { token } }],
    contexts: [{ name, context: { cluster: 'mooring', user: 'mooring', namespace: id } }],
    'current-context': name,
  };
  session.terminal.out(await formatDocument(config, 'yaml'));
  session.terminal.err(
    `${session.ink.dim('It holds the token: keep it as secret. kubectl --kubeconfig FILE get all')}\n`,
  );
  return exitCode.ok;
};
