import { generateKeyPairSync } from 'node:crypto';
import { execFileSync } from 'node:child_process';

import { expect } from 'chai';

import { resolveTenant } from '../../api/access/authorise.js';
import { checkIfMatch } from '../../api/write/if-match.js';
import { HostFilter, isLoopback, parseListen, toAddressKey } from '../../api/http/hosts.js';
import { parseQuery } from '../../api/http/query.js';
import { RouteTree } from '../../api/http/route-tree.js';
import { anonymous, defineRoute } from '../../api/http/route.js';
import { parsePodName } from '../../api/k8s/pods.js';
import { parseContinue, parseVersion } from '../../api/k8s/resource-version.js';
import { parseFieldSelector, parseLabelSelector } from '../../api/k8s/selectors.js';
import { isKubernetesPath } from '../../api/k8s/status.js';
import { parseCursor } from '../../api/watch/frame.js';
import { parseLogCursor, parseLogCursors } from '../../api/routes/deployment/log-stream.js';
import { isContainerUser, isNumericUser } from '../../crds/deployment/index.js';
import * as grammar from '../../crds/grammar/index.js';
import { isTimeZone, parseSchedule } from '../../crds/job/ticks.js';
import { isWellFormedKey, splitKey } from '../../crds/keys/index.js';
import { parseQuota } from '../../crds/kinds/index.js';
import { isRejectionCode, reject } from '../../crds/rejections/index.js';
import { isCountry, isResidencyLabel, parseResidencyLabels } from '../../crds/residency/index.js';
import { isCredential } from '../../crds/workload/credential.js';
import { assertLinearCost, measureCpu, sampleCases } from '../../dev/testing/index.js';
import { isEngineWord } from '../../pkg/agent/agent-env.js';
import { parseQuantity } from '../../pkg/agent/engine/kubernetes/quantity.js';
import { parseEngineTime } from '../../pkg/agent/engine/log-entries.js';
import { parsePosition } from '../../pkg/agent/logs/log-reader.js';
import { isSyncName, parsePeerMessage } from '../../pkg/agent/replication/messages.js';
import { isWildcard, parsePeerAddress } from '../../pkg/agent/replication/peer-address.js';
import { parseMounts } from '../../pkg/agent/fencer/mounted.js';
import { parseDeadlines } from '../../pkg/agent/fencer/order.js';
import { parseFolderRecord } from '../../pkg/agent/volumes/directory-record.js';
import { parseToken } from '../../pkg/auth/index.js';
import { parsePointer } from '../../crds/rejections/json-patch.js';
import { parseRejectionAnswer } from '../../pkg/client/answer.js';
import { parseJson } from '../../pkg/json/index.js';
import { parseAgentRun } from '../../pkg/link/agent-run.js';
import { isSignedBy, parseNodeKey, parseProof } from '../../pkg/link/request-proof.js';
import { parseJoinToken } from '../../pkg/link/server-pin.js';
import { readDocuments, readLines } from '../../pkg/ndjson/index.js';
import { parseChallenges } from '../../pkg/registry/challenge.js';
import { parseHost } from '../../pkg/registry/image-location.js';
import { parseCredentialPath } from '../../pkg/secrets/index.js';
import { parseKvList } from '../../pkg/secrets/vault/kv-answers.js';
import type { Cache } from '../../pkg/store/index.js';
import { parseTraceparent } from '../../pkg/trace/index.js';

const NODE_KEY = generateKeyPairSync('ed25519').publicKey;
const TENANT = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
const noCache = { get: () => undefined, barrier: async () => undefined } as unknown as Cache;
const routes = new RouteTree(
  ['/a/{b}', '/a/{b}/c/{d}', '/{a}/{b}/{c}'].map(path => defineRoute('viewer', 'GET', path, () => reply)),
);
const reply = { status: 200, type: '', body: Buffer.alloc(0) };
const hosts = new HostFilter(['http://moor.example']);

async function* inPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

async function consume(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) void item;
}

/** Every reader of a text that a caller, a node, a registry or an engine writes. A new one is entered here. */
const grammars: Readonly<Record<string, (text: string) => unknown>> = {
  isContainerUser,
  isNumericUser,
  isCountry,
  isTimeZone,
  parseSchedule: text => parseSchedule(text, 'UTC'),
  isReservedLabel: grammar.isReservedLabel,
  isCredential: text => [isCredential('A', text), isCredential(text, 'x')],
  isDnsLabel: grammar.isDnsLabel,
  isDnsLabelText: grammar.isDnsLabelText,
  isEngineWord,
  isLabelKey: grammar.isLabelKey,
  isLabelValue: grammar.isLabelValue,
  isLoopback,
  isSignedBy: text => isSignedBy(NODE_KEY, text, text),
  isRejectionCode,
  isRelativePath: grammar.isRelativePath,
  isResidencyLabel,
  isSameSpelling: text => grammar.isSameSpelling(text, 'healthCheck'),
  isSecretKey: grammar.isSecretKey,
  isSecretLabel: grammar.isSecretLabel,
  isWellFormedKey,
  parseAgentRun,
  parseAnchor: grammar.parseAnchor,
  parseChallenges,
  parseCpu: grammar.parseCpu,
  parseCredentialPath: text => parseCredentialPath(TENANT, text),
  parseCursor,
  parseDeadlines,
  parseDuration: grammar.parseDuration,
  parseEngineTime,
  parseQuantity,
  parseFolderRecord: text => attempt(() => parseFolderRecord(text)),
  parseHost,
  parseImageReference: grammar.parseImageReference,
  parseJoinToken,
  parseMounts,
  parseJson: text => [parseJson(Buffer.from(text)), parseJson(Buffer.from(`{"${text}":[${text}]}`))],
  parseKvList: text => parseKvList({ data: { keys: [text] } }),
  parseLogCursor,
  parsePointer,
  parseLogCursors,
  parseListen: text => attempt(() => parseListen(text)),
  parseMemory: grammar.parseMemory,
  parseNodeKey,
  parsePosition,
  parsePortRange: grammar.parsePortRange,
  parseProof,
  isSyncName,
  isWildcard,
  parsePeerAddress,
  parsePeerMessage: text =>
    attempt(() => parsePeerMessage(text, 'hello', 'held', 'header', 'arrived', 'done', 'refused')),
  parseQuery: text => parseQuery(text, ['a', 'after']),
  parseQuota: text => parseQuota('cpu', text),
  parseRejectionAnswer: text => parseRejectionAnswer(429, { code: text, rejections: [text] }, text),
  isKubernetesPath,
  parseFieldSelector: text => parseFieldSelector(text, ['metadata.name']),
  parseLabelSelector,
  parseContinue,
  parsePodName,
  parseVersion,
  parseResidencyLabels: text => parseResidencyLabels({ [text]: text, 'mooring.dev/countries': text }),
  parseSecretPath: grammar.parseSecretPath,
  parseTemplate: text => {
    const parts = grammar.parseTemplate(text);
    return parts && grammar.findPlaceholders(parts);
  },
  parseToken,
  parseTraceparent,
  splitKey: text => attempt(() => splitKey(text)),
  'cursor and path of a request': text => routes.find('GET', `/a/${text}`),
  'field path': text => grammar.FieldPath.ofPointer(`/${grammar.escapePointer(text)}`, {}).toString(),
  'Host header': text => hosts.check(text),
  'If-Match header': text => checkIfMatch(text, undefined, { revision: 7 }),
  'lines of JSON': async text => {
    await consume(readLines(inPieces(text, 1024)));
    await consume(readDocuments(inPieces(`"${text.replaceAll(/["\\]/g, '')}"\n`, 1024))).catch(() => undefined);
  },
  'nearest name': text => grammar.findNearestName(text, ['replicas', 'healthCheck']),
  'quotation of a refused value': text => reject('field_invalid', text, text, { wanted: text }),
  'remote address': text => toAddressKey(text),
  'tenant header': text => resolveTenant(anonymous, 'own', [text, text], noCache),
  'typed id': text => grammar.isTypedId('dep', text),
};

/** Texts that they do not read, or that are read elsewhere in this table. */
const exempt: Readonly<Record<string, string>> = {
  isFields: 'looks at the type of a value only',
  isMounted: 'looks for a mount at a path of ours',
  isPresent: 'looks for a file at a path of ours',
  isShed: 'a code of ours',
  isIncluded: 'reads names by one anchored expression',
  isAuthentic: 'compares codes of one length',
  parseAddress: 'of names that certificates are issued for',
  parseContainerDefaults: 'of the operator’s settings',
  parsePath: 'its parts are read by isSecretLabel and parseCredentialPath',
  parseReservedHostPorts: 'of the operator’s settings',
  parseCompactionInterval: 'of the operator’s settings',
  parseKvMetadata: 'a document that was read as JSON',
  parseKvVersion: 'a document that was read as JSON',
  parseKvWrite: 'a document that was read as JSON',
  parseJobOwner: 'a name of ours',
  parseQueueKey: 'a key that a loop made',
  parseQuotaSettings: 'of the operator’s settings',
  parseRegionSettings: 'of the operator’s settings',
  parseRegistryPolicy: 'of the operator’s settings',
  parseRequests: 'quantities that were admitted, by parseCpu and parseMemory',
  parseSecretDocument: 'a document that was read as JSON',
};

/** What breaks careless readers: long runs, and pairs that almost match, repeated. */
const pieces: readonly string[] = Array.from('aA01-_./:@,= \t\n"\\%~[{\0é\u{1f600}').concat(
  ['a-', '-a', 'a.', 'a/', '../', '//', 'a:', '1s', '1h1m', '1.', '1e', '::', 'ffff:', 'sha256:', '@sha256:'],
  ['{{', '}}', '{{secret.', '{{secret.a.b}}', '{"a":', '["', '\\u0041', '":"', '://a:eyJ', '://a@', 'eyJ.'],
  ['a=b&', 'a=', '%41', '%zz', 'Bearer a=",', 'a="\\"'],
);
/** Before and after a run, so that the beginning is accepted and the end is not. */
const frames: readonly (readonly [string, string])[] = [
  ['', ''],
  ['a', '!'],
  ['"', ''],
  ['mtk_', ''],
];

const SIZE = 1 << 16;
/** Far more than a reader needs for one text in proportion to its length: only then is its growth looked at. */
const SUSPICIOUS_MS = 25;

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return undefined;
  }
}

describe('readers of untrusted text', () => {
  for (const [name, read] of Object.entries(grammars)) {
    it(`${name} costs in proportion to its text, whatever the text is`, async () => {
      for (const piece of sampleCases(2, pieces)) {
        for (const [before, after] of frames) {
          const prepare = (size: number) => before + piece.repeat(Math.ceil(size / piece.length)) + after;
          // A size at which even the square is bearable comes first, the largest last.
          for (const size of [SIZE / 16, SIZE]) {
            const text = prepare(size);
            if ((await measureCpu(1, () => read(text))) < SUSPICIOUS_MS) continue;
            await assertLinearCost({ size, prepare, run: read }).catch((error: unknown) => {
              throw new Error(`${name} of ${JSON.stringify(before + piece)}…`, { cause: error });
            });
          }
        }
      }
    });
  }

  it('are all in this table', () => {
    const exported =
      'export (async )?function\\*? (parse[A-Z][A-Za-z]*|is[A-Z][A-Za-z]*\\((text|given|name|key|value|path|host|code)\\b|split[A-Z][A-Za-z]*\\([a-z]+: string)';
    const places = [
      'crds/*.ts',
      'pkg/*.ts',
      'api/*.ts',
      'controllers/*.ts',
      'bridge/*.ts',
      ':!*.test.ts',
      ':!*.testing.ts',
      ':!pkg/cli/*',
      ':!pkg/store/*',
    ];
    const found = execFileSync('git', ['grep', '-ohE', exported, '--', ...places], { encoding: 'utf8' });
    const names = [...found.matchAll(/function\*? (\w+)/g)].map(([, name]) => name!);
    expect(names).to.include('parseToken');
    expect([...new Set(names)].filter(name => !(name in grammars) && !(name in exempt))).to.deep.equal([]);
  });
});
