import { expect } from 'chai';

import { defaultRegions, type Residency } from '../../crds/residency/index.js';
import { GIB, makeNode, makeNodeWith, makeWorkload } from './candidates.testing.js';
import { listRejections } from './filters.js';
import { type AntiAffinityTerm, type Candidate, TopologyCounts, type Workload } from './model.js';

interface Case {
  readonly name: string;
  readonly node?: Partial<Candidate>;
  /** Nodes other than the one under test. */
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
    name: '[3.22] reject a node of another tenant without naming the tenant',
    node: { tenant: 't2' },
    refused: ['tenant'],
    reported: 'another tenant',
  },
  {
    name: '[3.4] reject a failed node',
    node: { status: 'failed' },
    refused: ['ready'],
    required: 'ready',
    reported: 'failed',
  },
  { name: 'reject a node without a status', node: { status: 'unknown' }, refused: ['ready'] },
  { name: 'reject a draining node', node: { status: 'draining' }, refused: ['ready'] },
  {
    name: '[3.24] reject the control plane’s node for a tenant',
    node: { controlPlane: true },
    refused: ['control_plane'],
  },
  {
    name: '[3.24] accept the control plane’s node for the platform',
    node: { controlPlane: true },
    workload: { platform: true },
    refused: [],
  },
  {
    name: '[3.28] reject the control plane’s node although the deployment names it',
    node: { controlPlane: true },
    workload: { namedNode: 'node_a' },
    refused: ['control_plane'],
  },
  { name: '[2.7.21] accept the named node', workload: { namedNode: 'node_a' }, refused: [] },
  {
    name: '[2.7.21] reject every node but the named one',
    workload: { namedNode: 'node_b', namedNodeName: 'b' },
    refused: ['named_node'],
    required: 'b',
    reported: 'a',
  },
  {
    name: 'accept the node of the networks',
    workload: {
      networks: [
        { name: 'backend', nodeId: 'node_a', node: 'a' },
        { name: 'vault', nodeId: 'node_a', node: 'a' },
      ],
    },
    refused: [],
  },
  {
    name: 'reject every node but that of a network, and name both',
    workload: { networks: [{ name: 'backend', nodeId: 'node_b', node: 'b' }] },
    refused: ['network'],
    required: 'network backend, which is on b',
    reported: 'a',
  },
  {
    name: 'reject the node of one of two networks',
    workload: {
      networks: [
        { name: 'near', nodeId: 'node_a', node: 'a' },
        { name: 'far', nodeId: 'node_b', node: 'b' },
      ],
    },
    refused: ['network'],
    required: 'network far, which is on b',
  },
  {
    name: 'reject every node for a network that does not exist',
    workload: { networks: [{ name: 'gone' }] },
    refused: ['network'],
    required: 'network gone, which does not exist',
  },
  {
    name: 'reject every node for a network whose node is not enrolled',
    workload: { networks: [{ name: 'backend', nodeId: 'node_z' }] },
    refused: ['network'],
    required: 'network backend, which is on node_z, which is not enrolled',
  },
  {
    name: 'accept the node of the volumes',
    workload: { volumes: [{ id: 'vol_1', name: 'data', nodeId: 'node_a', node: 'a' }] },
    refused: [],
  },
  {
    name: 'reject every node but that of a volume, and name both',
    workload: { volumes: [{ id: 'vol_1', name: 'data', nodeId: 'node_b', node: 'b' }] },
    refused: ['volume'],
    required: 'volume data, which is on b',
    reported: 'a',
  },
  {
    name: 'reject the node of a volume that says that it cannot provide it, with what it says',
    workload: { volumes: [{ id: 'vol_1', name: 'data', nodeId: 'node_a', node: 'a', refusal: 'there is no folder' }] },
    refused: ['volume'],
    required: 'volume data, which is on a',
    reported: 'a: there is no folder',
  },
  {
    name: 'reject every node for a volume without one',
    workload: { volumes: [{ id: 'vol_1', name: 'data' }] },
    refused: ['volume'],
    required: 'volume data, which has no node yet',
  },
  {
    name: 'reject every node for a volume while a copy of it takes over',
    workload: { volumes: [{ id: 'vol_1', name: 'data', isPromoting: true }] },
    refused: ['volume'],
    required: 'volume data, which is being promoted on another node',
  },
  {
    name: 'reject every node for a volume that does not exist, or whose node is not enrolled',
    workload: { volumes: [{ id: 'vol_1' }, { id: 'vol_2', name: 'far', nodeId: 'node_z' }] },
    refused: ['volume'],
    required: 'volume vol_1, which does not exist; volume far, which is on node_z, which is not enrolled',
  },
  {
    name: 'reject by node and by network where they contradict each other',
    workload: { namedNode: 'node_c', networks: [{ name: 'backend', nodeId: 'node_b', node: 'b' }] },
    refused: ['named_node', 'network'],
  },
  {
    name: 'accept a node in the required country',
    node: at('DE'),
    workload: residency({ country: 'DE' }),
    refused: [],
  },
  {
    name: '[6.3] reject a node in another country and quote both',
    node: at('FR'),
    workload: residency({ country: 'DE' }),
    refused: ['residency'],
    required: 'country DE',
    reported: 'country FR',
  },
  {
    name: 'reject a node without a country label for a residency',
    workload: residency({ country: 'DE' }),
    refused: ['residency'],
    reported: 'country nothing',
  },
  {
    name: 'accept a node in a country of the region',
    node: at('FR'),
    workload: residency({ region: 'eu' }),
    refused: [],
  },
  {
    name: '[2.7.5] accept a node labelled with the region',
    node: at('US', 'eu'),
    workload: residency({ region: 'eu' }),
    refused: [],
  },
  {
    name: '[2.7.6] reject a node in a country outside the region',
    node: at('US'),
    workload: residency({ region: 'eu' }),
    refused: ['residency'],
    required: 'region eu',
    reported: 'country US',
  },
  {
    name: '[2.7.7] reject a node in a blocked country',
    node: at('US'),
    workload: residency({ blockedCountries: ['US'] }),
    refused: ['residency'],
  },
  {
    name: 'accept a node in a country that is not blocked',
    node: at('CA'),
    workload: residency({ blockedCountries: ['US'] }),
    refused: [],
  },
  {
    name: 'report every part of a residency that is not satisfied',
    node: at('US'),
    workload: residency({ country: 'DE', region: 'eu', blockedCountries: ['US'] }),
    refused: ['residency'],
    required: 'country DE; region eu; country not US',
  },
  {
    name: 'reject every node for a residency that is not enforced',
    node: at('DE'),
    workload: residency({ country: 'DE' }, false),
    refused: ['residency'],
  },
  {
    name: '[2.7.19] accept a node whose label is in the list',
    node: labels({ disk: 'ssd' }),
    workload: { constraints: [{ key: 'disk', operator: 'In', values: ['nvme', 'ssd'] }] },
    refused: [],
  },
  {
    name: '[2.7.19] reject a node whose label is not in the list',
    node: labels({ disk: 'hdd' }),
    workload: { constraints: [{ key: 'disk', operator: 'In', values: ['nvme', 'ssd'] }] },
    refused: ['label_constraint'],
    required: 'disk in nvme, ssd',
    reported: 'disk=hdd',
  },
  {
    name: 'treat a missing label as in no list',
    workload: { constraints: [{ key: 'disk', operator: 'NotIn', values: ['hdd'] }] },
    refused: [],
  },
  {
    name: 'report a label that must be absent and one that must exist',
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
    name: 'reject a node whose engine cannot do what is needed',
    node: { lacks: ['volumes', 'host_ports', 'pre_stop'] },
    workload: { needs: ['networks', 'host_ports', 'pre_stop'] },
    refused: ['capability'],
    required: 'host ports, commands before a stop',
    reported: 'an engine that cannot do it',
  },
  {
    name: 'accept a node that lacks something else, or of which no heartbeat has come yet',
    node: { lacks: ['volumes', 'a_word_of_later'] },
    workload: { needs: ['networks'] },
    refused: [],
  },
  {
    name: '[2.7.20] reject a second replica of a deployment with anti-affinity to itself',
    node: { replicasByDeployment: new Map([['web', one]]) },
    workload: { antiAffinity: [apart('web')] },
    refused: ['anti_affinity'],
    required: 'apart from its other replicas by node',
  },
  {
    name: 'reject a node whose replica is still retiring',
    node: { replicasByDeployment: new Map([['web', leaving]]) },
    workload: { antiAffinity: [apart('web')] },
    refused: ['anti_affinity'],
  },
  {
    name: 'accept a node with replicas of other deployments',
    node: { replicasByDeployment: new Map([['api', one]]) },
    others: [makeNodeWith('b', { web: 1 })],
    workload: { antiAffinity: [apart('web')] },
    refused: [],
  },
  {
    name: 'reject a node whose zone holds the other deployment',
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
    name: 'reject a node without the zone label for a term of the deployment itself',
    workload: { antiAffinity: [apart('db', 'zone')] },
    refused: ['anti_affinity'],
    reported: 'no zone on the node',
  },
  {
    name: 'accept a node without the zone label for a term of the other deployment',
    workload: { antiAffinity: [apart('db', 'zone', false)] },
    refused: [],
  },
  {
    name: 'reject a node whose host port is taken',
    node: { heldPorts: new Set(['80/tcp']) },
    workload: { hostPorts: ['80/tcp', '443/tcp'] },
    refused: ['port'],
    reported: '80/tcp taken',
  },
  {
    name: 'accept the same host port of another protocol',
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
    name: '[3.30] reject requests that do not fit',
    node: { used: { cpu: 1501, memory: 0 } },
    workload: { requests: { cpu: 500, memory: GIB } },
    refused: ['resources'],
    required: '500m cpu',
    reported: '499m cpu free',
  },
  {
    name: 'accept a full node for a workload without requests',
    node: { used: { cpu: 9000, memory: 9 * GIB } },
    refused: [],
  },
  {
    name: 'accept the last container of a quota',
    workload: { quotas: [{ kind: 'containers', limit: 10, used: 9, asked: 1 }] },
    refused: [],
  },
  {
    name: '[3.8] reject a replica beyond a quota',
    workload: { quotas: [{ kind: 'containers', limit: 10, used: 10, asked: 1 }] },
    refused: ['quota'],
    required: 'at most 10 containers',
    reported: '10 containers',
  },
  {
    name: 'report quotas in cores and mebibytes',
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
    name: 'ignore an exceeded quota that the workload does not add to',
    workload: { quotas: [{ kind: 'cpu', limit: 10, used: 20, asked: 0 }] },
    refused: [],
  },
  {
    name: 'report all reasons, in the order of the filters',
    node: { status: 'failed', controlPlane: true },
    workload: { requests: { memory: 5 * GIB }, ...residency({ country: 'DE' }) },
    refused: ['ready', 'control_plane', 'residency', 'resources'],
  },
];

describe('placement filters', () => {
  for (const given of cases) {
    it(given.name, () => {
      const node = makeNode('a', given.node);
      const what = makeWorkload(given.workload);
      const reasons = listRejections(node, what, new TopologyCounts(what, [node, ...(given.others ?? [])]));

      expect(reasons.map(({ filter }) => filter)).to.deep.equal(given.refused);
      if (given.required !== undefined) expect(reasons[0]?.required).to.equal(given.required);
      if (given.reported !== undefined) expect(reasons[0]?.reported).to.equal(given.reported);
    });
  }
});
