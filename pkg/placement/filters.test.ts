import { expect } from 'chai';

import { defaultRegions, type Residency } from '../../crds/residency/index.js';
import { GIB, makeNode, makeNodeWith, makeWorkload } from './candidates.testing.js';
import { listRejections } from './feasibility.js';
import type { AntiAffinityTerm, Candidate, Workload } from './model.js';
import { TopologyCounts } from './topology.js';
import { filters } from './filters.js';

interface Case {
  readonly name: string;
  readonly node?: Partial<Candidate>;
  /** Other nodes, beside the one that is asked. */
  readonly others?: readonly Candidate[];
  readonly workload?: Partial<Workload>;
  readonly refused: readonly string[];
  readonly required?: string;
  readonly reported?: string;
}

const residency = (asked: Residency, enforced = true): Partial<Workload> => ({
  residency: { asked, regions: { enforced, declared: defaultRegions } },
});
const labels = (pairs: Readonly<Record<string, string>>): Partial<Candidate> => ({ labels: pairs });
const at = (country: string, region?: string) =>
  labels({ 'mooring.io/country': country, ...(region !== undefined && { 'mooring.io/geo-region': region }) });
const apart = (deployment: string, topologyKey = 'node', own = true): AntiAffinityTerm => ({
  deployment,
  topologyKey,
  own,
});
const one = { all: 1, staying: 1 };
const leaving = { all: 1, staying: 0 };

const cases: readonly Case[] = [
  { name: 'accept an idle node of the tenant', refused: [] },
  {
    name: 'refuse a node of another tenant without naming it',
    node: { tenant: 't2' },
    refused: ['tenant'],
    reported: 'another tenant',
  },
  {
    name: 'refuse a failed node',
    node: { status: 'failed' },
    refused: ['ready'],
    required: 'ready',
    reported: 'failed',
  },
  { name: 'refuse a node that nobody has judged yet', node: { status: 'unknown' }, refused: ['ready'] },
  { name: 'refuse a node that is being emptied', node: { status: 'draining' }, refused: ['ready'] },
  { name: 'keep the control plane’s node from tenants', node: { controlPlane: true }, refused: ['control_plane'] },
  {
    name: 'leave the control plane’s node to the platform',
    node: { controlPlane: true },
    workload: { platform: true },
    refused: [],
  },
  { name: 'accept the named node', workload: { namedNode: 'node_a' }, refused: [] },
  {
    name: 'refuse every other node',
    workload: { namedNode: 'node_b' },
    refused: ['named_node'],
    required: 'node_b',
    reported: 'node_a',
  },
  { name: 'accept the country that is asked for', node: at('DE'), workload: residency({ country: 'DE' }), refused: [] },
  {
    name: 'refuse another country, quoting both',
    node: at('FR'),
    workload: residency({ country: 'DE' }),
    refused: ['residency'],
    required: 'country DE',
    reported: 'country FR',
  },
  {
    name: 'refuse a node that does not say where it is',
    workload: residency({ country: 'DE' }),
    refused: ['residency'],
    reported: 'country nothing',
  },
  { name: 'accept a country of the region', node: at('FR'), workload: residency({ region: 'eu' }), refused: [] },
  {
    name: 'accept a node that names the region',
    node: at('US', 'eu'),
    workload: residency({ region: 'eu' }),
    refused: [],
  },
  {
    name: 'refuse a country outside the region',
    node: at('US'),
    workload: residency({ region: 'eu' }),
    refused: ['residency'],
    required: 'region eu',
    reported: 'region US',
  },
  {
    name: 'refuse a blocked country',
    node: at('US'),
    workload: residency({ blockedCountries: ['US'] }),
    refused: ['residency'],
  },
  {
    name: 'accept a country that is not blocked',
    node: at('CA'),
    workload: residency({ blockedCountries: ['US'] }),
    refused: [],
  },
  {
    name: 'refuse for each part of a residency at once',
    node: at('US'),
    workload: residency({ country: 'DE', region: 'eu', blockedCountries: ['US'] }),
    refused: ['residency'],
    required: 'country DE; region eu; country not US',
  },
  {
    name: 'refuse everywhere what asks for a residency that is not enforced',
    node: at('DE'),
    workload: residency({ country: 'DE' }, false),
    refused: ['residency'],
  },
  {
    name: 'accept a label that is in the list',
    node: labels({ disk: 'ssd' }),
    workload: { constraints: [{ key: 'disk', operator: 'In', values: ['nvme', 'ssd'] }] },
    refused: [],
  },
  {
    name: 'refuse a label that is not in the list',
    node: labels({ disk: 'hdd' }),
    workload: { constraints: [{ key: 'disk', operator: 'In', values: ['nvme', 'ssd'] }] },
    refused: ['label_constraint'],
    required: 'disk in nvme, ssd',
    reported: 'disk=hdd',
  },
  {
    name: 'take a label that is missing for one that is in no list',
    workload: { constraints: [{ key: 'disk', operator: 'NotIn', values: ['hdd'] }] },
    refused: [],
  },
  {
    name: 'refuse a label that must not be there, and one that must',
    node: labels({ spot: '' }),
    workload: {
      constraints: [
        { key: 'spot', operator: 'DoesNotExist' },
        { key: 'gpu', operator: 'Exists' },
      ],
    },
    refused: ['label_constraint'],
    required: 'no spot; gpu',
    reported: 'spot=; no gpu',
  },
  {
    name: 'refuse a second replica on the node',
    node: { replicasByDeployment: new Map([['web', one]]) },
    workload: { antiAffinity: [apart('web')] },
    refused: ['anti_affinity'],
    required: 'apart from its other replicas by node',
  },
  {
    name: 'refuse a node from which a replica is still to go',
    node: { replicasByDeployment: new Map([['web', leaving]]) },
    workload: { antiAffinity: [apart('web')] },
    refused: ['anti_affinity'],
  },
  {
    name: 'accept a node with others, and others’ nodes',
    node: { replicasByDeployment: new Map([['api', one]]) },
    others: [makeNodeWith('b', { web: 1 })],
    workload: { antiAffinity: [apart('web')] },
    refused: [],
  },
  {
    name: 'refuse a node whose zone holds the other deployment',
    node: labels({ zone: 'a' }),
    others: [makeNodeWith('b', { db: 1 }, labels({ zone: 'a' }))],
    workload: { antiAffinity: [apart('db', 'zone')] },
    refused: ['anti_affinity'],
    reported: '1 of them in zone=a',
  },
  {
    name: 'accept a node of another zone',
    node: labels({ zone: 'a' }),
    others: [makeNodeWith('b', { db: 1 }, labels({ zone: 'b' }))],
    workload: { antiAffinity: [apart('db', 'zone')] },
    refused: [],
  },
  {
    name: 'refuse a node that does not say in which zone it is',
    workload: { antiAffinity: [apart('db', 'zone')] },
    refused: ['anti_affinity'],
    reported: 'no zone on the node',
  },
  {
    name: 'accept that node when it is the other deployment that asks',
    workload: { antiAffinity: [apart('db', 'zone', false)] },
    refused: [],
  },
  {
    name: 'refuse a taken host port',
    node: { heldPorts: new Set(['80/tcp']) },
    workload: { hostPorts: ['80/tcp', '443/tcp'] },
    refused: ['port'],
    reported: '80/tcp taken',
  },
  {
    name: 'accept the same port of another protocol',
    node: { heldPorts: new Set(['53/udp']) },
    workload: { hostPorts: ['53/tcp'] },
    refused: [],
  },
  {
    name: 'accept requests that just fit',
    node: { used: { cpu: 1500, memory: 0 } },
    workload: { requests: { cpu: 500 } },
    refused: [],
  },
  {
    name: 'refuse requests that do not fit',
    node: { used: { cpu: 1501, memory: 0 } },
    workload: { requests: { cpu: 500, memory: GIB } },
    refused: ['resources'],
    required: '500m cpu',
    reported: '499m cpu free',
  },
  {
    name: 'say nothing of resources to a workload that requests none, on a full node',
    node: { used: { cpu: 9000, memory: 9 * GIB } },
    refused: [],
  },
  {
    name: 'accept the last container of a quota',
    workload: { quotas: [{ kind: 'containers', limit: 10, used: 9, asked: 1 }] },
    refused: [],
  },
  {
    name: 'refuse what a quota does not allow',
    workload: { quotas: [{ kind: 'containers', limit: 10, used: 10, asked: 1 }] },
    refused: ['quota'],
    required: 'at most 10 containers',
    reported: '10 containers',
  },
  {
    name: 'say in cores and mebibytes what a quota does not allow',
    workload: {
      quotas: [
        { kind: 'cpu', limit: 2000, used: 1900, asked: 500 },
        { kind: 'memory', limit: GIB, used: GIB, asked: 1 },
      ],
    },
    refused: ['quota'],
    required: 'at most 2000m cpu, at most 1024Mi memory',
    reported: '1900m cpu, 1024Mi memory',
  },
  {
    name: 'say nothing of a quota that the workload does not add to',
    workload: { quotas: [{ kind: 'cpu', limit: 10, used: 20, asked: 0 }] },
    refused: [],
  },
  {
    name: 'keep all reasons, in order',
    node: { status: 'failed', controlPlane: true },
    workload: { requests: { memory: 5 * GIB }, ...residency({ country: 'DE' }) },
    refused: ['ready', 'control_plane', 'residency', 'resources'],
  },
];

describe('placement filters', () => {
  for (const given of cases) {
    it(given.name, () => {
      const asked = makeNode('a', given.node);
      const what = makeWorkload(given.workload);
      const reasons = listRejections(asked, what, new TopologyCounts(what, [asked, ...(given.others ?? [])]), filters);

      expect(reasons.map(({ filter }) => filter)).to.deep.equal(given.refused);
      if (given.required !== undefined) expect(reasons[0]?.required).to.equal(given.required);
      if (given.reported !== undefined) expect(reasons[0]?.reported).to.equal(given.reported);
    });
  }
});
