import { CODE_TITLE } from '../checks/conformance.js';
import { holds, inSection, type Sentence, testsIn } from './sentence.js';

const http = testsIn('api/specification.test.ts');
const loops = testsIn('controllers/specification.test.ts');
const codes = testsIn('api/routes/deployment/placement-codes.test.ts');
const residency = testsIn('crds/residency/residency.test.ts');
const filters = testsIn('pkg/placement/filters.test.ts');
const placement = testsIn('controllers/placement.test.ts');
const nodes = testsIn('api/routes/node/routes.test.ts');
const claims = testsIn('api/routes/node/claims.test.ts');
const backups = testsIn('api/routes/backup/routes.test.ts');
const archives = testsIn('api/routes/archive/routes.test.ts');
const retention = testsIn('controllers/janitor/retention.test.ts');
const story = testsIn('e2e/stories/residency.test.ts');
const networkStory = testsIn('e2e/stories/networks.test.ts');
const backupStory = testsIn('e2e/stories/backups.test.ts');

const ON_NODE = '${JSON.stringify(residency)} on ${JSON.stringify(node)}';
const recommendations = testsIn('api/routes/recommendation/routes.test.ts');
const COMPUTED =
  'are computed on every read from what is measured, the most urgent first, and vanish with their condition';
const STORED_AS = 'placement.residency.${part} is stored as the label ${label}';

/** Sections 2.6 to 2.8: volumes, placement, and the other records. */
export const placementSentences: readonly Sentence[] = [
  ...inSection(
    '2.6 Volumes and recommendations',
    holds(
      'A volume has a typed ID, a class, a mount type, a phase and a primary node',
      testsIn('api/routes/volume/routes.test.ts')('are stored, shown by id and by name, listed and announced'),
    ),
    holds(
      'A volume has optionally replicas on other nodes',
      testsIn('api/routes/volume/replicas.test.ts')('are wanted once unless the volume says how often'),
      testsIn('e2e/stories/volume-copies.test.ts')('is made on another node, and brought up to date'),
    ),
    holds(
      'Only classes ephemeral and replicated can be bound in a deployment; other classes are rejected',
      codes(CODE_TITLE, "code: 'volume_class_not_wired'"),
    ),
    holds(
      'ReadWriteOnce: exactly one read-write consumer',
      codes(CODE_TITLE, "code: 'volume_access_mode_conflict'"),
      testsIn('api/admission/dry-run.test.ts')('never give one volume two writers'),
    ),
    holds(
      'ReadWriteOnce: others must mount read-only',
      codes(CODE_TITLE, "['another deployment', 'volumes[0].readOnly', mounts({ volumeId: writtenByOther })]"),
      testsIn('crds/deployment/relations.test.ts')(
        "${found[0] ?? 'accepts'}: ${JSON.stringify({ ...given, ...facts }).slice(0, 120)}",
        '{ given: one({ volumeId: writtenByOther, readOnly: true }) }',
      ),
    ),
    holds(
      'Every replica sits on a distinct node: N replicas need N+1 enrolled nodes',
      testsIn('controllers/volume-keeper/copies.test.ts')('are never where the primary is'),
      testsIn('crds/volume/volume.test.ts')(
        'fills in what was not said, announced, and warns of copies without a node',
      ),
    ),
    holds('A recommendation has id, applicable, type, priority, volume_id and parameters', recommendations(COMPUTED)),
    holds(
      'Recommendations are recomputed from live volume state on every read and vanish when the condition stops holding',
      recommendations(COMPUTED),
      testsIn('pkg/recommend/recommend.test.ts')(
        'property: ids are one for each condition, stay while it holds, and targets are sizes that fit',
      ),
    ),
    holds(
      'A snapshot record has an id, reachable under snapshots/{snap}; snapshot records normally do not exist',
      testsIn('api/routes/volume/routes.test.ts')('have no snapshots, and none can be made'),
    ),
    holds(
      'Snapshot creation is always refused',
      testsIn('api/routes/volume/routes.test.ts')('have no snapshots, and none can be made'),
    ),
  ),
  ...inSection(
    '2.7 placement',
    holds(
      'placement.residency.country is stored as label <platform>.io/data-residency-country',
      http(STORED_AS, "['country', { country: 'DE' }"),
    ),
    holds(
      'placement.residency.region is stored as label <platform>.io/data-residency-region',
      http(STORED_AS, "['region', { region: 'eu' }"),
    ),
    holds(
      'placement.residency.blockedCountries is stored as label <platform>.io/blocked-countries, comma-joined',
      http(STORED_AS, "['blockedCountries', { blockedCountries: ['US', 'CN'] }"),
      residency('say the same as the block'),
    ),
    holds(
      'A node satisfies a country with label <platform>.io/country equal to it',
      residency(ON_NODE, "{ residency: { country: 'DE' }, node: country('FR'), refused: ['country'] }"),
      story('keeps a deployment in its country, and in a region'),
    ),
    holds(
      'A node satisfies a region with label <platform>.io/geo-region equal to it',
      residency(ON_NODE, "{ residency: { region: 'eu' }, node: region('eu'), refused: [] }"),
      filters('accept a node labelled with the region'),
    ),
    holds(
      'or with a country the region covers',
      residency(ON_NODE, "{ residency: { region: 'eu' }, node: country('FR'), refused: [] }"),
      filters('reject a node in a country outside the region'),
    ),
    holds('A listed country removes the node', filters('reject a node in a blocked country')),
    holds(
      '<platform> stands for the platform’s label domain prefix; the identifier is the same throughout',
      residency('are known in any case, and others are not'),
      http(STORED_AS),
    ),
    holds(
      'Residency is a hard filter',
      placement('place no replica while no node satisfies the residency, and place it at once on a node that does'),
      placement('move replicas off a node whose labels no longer satisfy the residency'),
    ),
    holds(
      'Node labels are set in the node agent’s own configuration and re-advertised when the agent restarts',
      testsIn('pkg/agent/agent.test.ts')('advertises the labels of its own configuration, as they are now'),
      nodes('record an event when their labels change, by heartbeat or by another enrolment'),
    ),
    holds(
      'Hand-written data-residency labels are refused on write',
      codes(CODE_TITLE, "code: 'residency_label_handwritten'"),
    ),
    holds(
      'The rejection prints the typed block filled with the submitted values',
      http('by a hand-written label is refused with the typed block of the submitted values'),
    ),
    holds(
      'Setting both a placement block and the equivalent hand-written label is refused',
      codes(CODE_TITLE, "code: 'residency_label_conflict'"),
    ),
    holds(
      'A region name that the control plane does not declare is refused, and the refusal lists declared names',
      http('in a region that is not declared is refused, and the declared names are listed'),
      codes(CODE_TITLE, "code: 'residency_region_unknown'"),
    ),
    holds(
      'A residency constraint the control plane cannot honour because enforcement is off is stored; the response body states it',
      http('that is not enforced is stored, and the answer says that enforcement is off'),
    ),
    holds(
      'One that no reachable node advertises a matching label for is stored; the response body states it',
      http('that no reachable node advertises is stored, and the answer lists what the nodes advertise'),
      testsIn('crds/deployment/announced.test.ts')('residency that only a silent node could satisfy'),
    ),
    holds(
      'For the second case it lists the values the nodes advertise',
      http('that no reachable node advertises is stored, and the answer lists what the nodes advertise'),
    ),
    holds(
      'The deployment waits',
      placement('place no replica while no node satisfies the residency, and place it at once on a node that does'),
      placement('place no replica with a residency that is not enforced'),
      story('lets what matches nothing wait, says why of every node, and starts it when a node comes'),
    ),
    holds(
      'Other placement filters: label constraint',
      filters('accept a node whose label is in the list'),
      filters('reject a node whose label is not in the list'),
    ),
    holds(
      'Other placement filters: anti-affinity',
      filters('reject a second replica of a deployment with anti-affinity to itself'),
      placement('keep deployments apart by anti-affinity, whichever of them declares it'),
    ),
    holds(
      'Other placement filters: named node',
      filters('accept the named node'),
      filters('reject every node but the named one'),
    ),
    holds(
      'A filter that matches nothing leaves no place to run',
      loops('${name} that no node satisfies leaves no place to run, no container, and an event'),
    ),
  ),
  ...inSection(
    '2.8 Other records',
    holds(
      'Node: has a name (nodeName at registration), a tenant, a status, labels and reported capacity',
      nodes('join with a token of their tenant, and are shown with their free capacity'),
      nodes('update labels and capacity with a heartbeat, and no other field'),
    ),
    holds(
      'Node: the statuses ready and failed appear',
      testsIn('controllers/controllers.test.ts')(
        'mark a node without heartbeats failed and its deployment degraded, and both recover',
      ),
    ),
    holds(
      'A node is registered to one tenant only',
      nodes('cannot take a name from another tenant, nor from another machine'),
      nodes('have one owner when two enrol under one name at the same time'),
    ),
    holds(
      'A node may carry claims from two tenants',
      claims('can be recorded for a second tenant, by administrators only, and grant it no access'),
      claims('are at most two, and only to an enrolled machine'),
    ),
    holds(
      'A claim is released per tenant',
      claims('leave the node unchanged when the second claim is released'),
      claims('hand the node over when the claim of the owner is released'),
    ),
    holds(
      'Network: created on ONE node',
      testsIn('api/routes/network/routes.test.ts')('are stored on the only node, shown, listed and announced'),
      networkStory('hold the deployments that join them on their node, reached by name'),
      networkStory('hold the jobs that join them on their node, which reach deployments by name'),
      networkStory('come and go whole, wherever the server, the controllers and the agent of their node are killed'),
    ),
    holds(
      'Its wire format to the node agent carries only name, driver, labels and internal',
      testsIn('pkg/link/agent-dispatcher.test.ts')('sends of a network its name, driver, labels and internal only'),
      testsIn('pkg/agent/networks.test.ts')(
        'are created with what the wire says of them, and reported; those of other nodes are not',
      ),
    ),
    holds('Other network options are rejected', codes(CODE_TITLE, "code: 'network_option_unsupported_on_agent'")),
    holds(
      'Job: a different primitive from a deployment',
      codes(CODE_TITLE, "['a deployment among jobs', 'kind', job({ kind: 'Deployment' })]"),
      testsIn('api/routes/deployment/deployment-codes.test.ts')(CODE_TITLE, "['a job', 'kind', web({ kind: 'Job' })]"),
    ),
    holds('Job: may name a nodeId, which must exist', codes(CODE_TITLE, "code: 'job_node_not_found'")),
    holds(
      'Backup: created from a deploymentName; holds spec and revision history',
      backups('hold spec, hash, author, history, and a checksum over all of it'),
      backupStory('is backed up as a whole or not at all, whenever the API server is killed'),
    ),
    holds(
      'Backup: holds the scaling policy',
      testsIn('api/routes/backup/scaling.test.ts')(
        'hold the scaling policy, and bring it back, change it back or take it away again',
      ),
    ),
    holds(
      'Backup: holds the canary state',
      testsIn('api/routes/deployment/canary.test.ts')(
        'is part of a backup; a deployment that is there is changed as by any other write',
      ),
      testsIn('api/routes/deployment/canary.test.ts')(
        'is resumed with a deployment that is made anew from a backup, beside what ran beside it',
      ),
    ),
    holds(
      'Archive: versioned history of a deployment',
      archives(
        'answer every accepted configuration, with author, change and alterations, and nothing of a refused one',
      ),
      archives('answer the last fifty'),
      archives('are found after the deletion, by name and by id, and the next of that name continues the numbers'),
      testsIn('pkg/history/index.test.ts')(
        'of a name goes on across its deletion, without gaps, and is found afterwards',
      ),
      retention(
        'keeps fifty of each of many deleted deployments, by default of 200, and reads each entry for its size once',
      ),
      retention('takes those of deleted deployments that make them too large together, beyond the newest thousand'),
    ),
  ),
];
