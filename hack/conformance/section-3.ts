import { CODE_TITLE } from '../checks/conformance.js';
import { holds, inSection, type Sentence, testsIn } from './sentence.js';

const http = testsIn('api/specification.test.ts');
const loops = testsIn('controllers/specification.test.ts');
const together = testsIn('controllers/controllers.test.ts');
const placement = testsIn('controllers/placement.test.ts');
const secrets = testsIn('controllers/secrets.test.ts');
const rotation = testsIn('controllers/rotation.test.ts');
const phases = testsIn('crds/rotation/rotation.test.ts');
const rotate = testsIn('api/routes/rotation/routes.test.ts');
const filters = testsIn('pkg/placement/filters.test.ts');
const model = testsIn('pkg/placement/model.test.ts');
const monitor = testsIn('controllers/node-monitor/decide.test.ts');
const routes = testsIn('api/routes/deployment/routes.test.ts');
const life = testsIn('e2e/stories/deployment-life.test.ts');
const mounts = testsIn('api/routes/deployment/placement-codes.test.ts');

const NO_PLACE = '${name} that no node satisfies leaves no place to run, no container, and an event';
const controlPlaneNode = loops(
  'the node that the control plane runs on keeps what is placed on it, accepts nothing new, and is no fault',
);

/** Section 3: states, transitions and the rules of scheduling. */
export const stateSentences: readonly Sentence[] = [
  ...inSection(
    '3 States and transitions',
    holds(
      'Deployment (new), POST create, validation passes: it exists and is stored',
      routes('are stored with their archive entry and their event, at one revision'),
    ),
    holds('GET by name returns it', routes('are created with every default announced, and read back the same')),
    holds(
      'It is placed when a node accepts it',
      together('report once why no replica can be placed, and place as soon as a node can take it'),
      life('starts, spread over the tenant’s machines, and becomes healthy'),
    ),
    holds(
      'Unplaced when no ready node of the tenant accepts new work',
      together('report once why no replica can be placed, and place as soon as a node can take it'),
      filters('reject a failed node'),
    ),
    holds('Unplaced when requests fit on no single node', loops(NO_PLACE, "['a request for more than any node has'")),
    holds('Unplaced when a filter matches nothing', loops(NO_PLACE, "['a label constraint'")),
    holds(
      'Unplaced when residency matches nothing',
      placement('place no replica while no node satisfies the residency, and place it at once on a node that does'),
    ),
    holds(
      'Unplaced when a quota is reached',
      placement('place no more than a quota allows, stop nothing, and continue when it is raised'),
      filters('reject a replica beyond a quota'),
    ),
    holds('Remains unplaced with replica count zero and no container', loops(NO_PLACE)),
    holds(
      'Event deployment.unschedulable published, naming every candidate node with its rejection reason',
      placement('name every node with every reason in the event, and only counts in the status'),
      life('says why every node refuses it'),
      testsIn('controllers/scheduler-report.etcd.test.ts')(
        'names every one of 10,000 nodes, however long their names and labels',
      ),
      testsIn('e2e/agreement/agreement.test.ts')('property: never contradict each other, whatever has happened'),
    ),
    holds(
      'The status message gives only a summary',
      placement('name every node with every reason in the event, and only counts in the status'),
      testsIn('pkg/placement/fleet.test.ts')('counts a node with several reasons once, so that the counts add up'),
    ),
    holds(
      'Deployment (any), PUT with replicas 0: stopped, not deleted',
      http('is not deleted by replicas 0'),
      loops('a deployment with replicas 0 is stopped, and neither deleted nor forgotten'),
      life('stops without being deleted, and starts again'),
    ),
    holds(
      'Deployment (secret unresolved): the secrets store answers 403 or material is missing: Degraded, no container',
      secrets("create no container with ${name}, report it once${heal ? ', and recover' : ''}"),
      testsIn('e2e/stories/secrets.test.ts')('leave a deployment without a container while they are missing'),
    ),
    holds(
      'It fails closed',
      testsIn('pkg/secrets/resolve.test.ts')('delivers nothing when the audit record cannot be written'),
      testsIn('api/routes/agent/environment.test.ts')('is refused whole when one secret is missing'),
      secrets(
        'keep running containers and create none while the secrets store is unavailable, and recover within ten seconds',
      ),
    ),
    holds(
      'Secret rotation: phases advance in order',
      phases("${phase} after ${state} is ${isAccepted ? 'accepted' : 'refused'}"),
      rotate('passes through its phases, each requested once and repeatable'),
    ),
    holds(
      'So that at no time are zero credentials valid',
      testsIn('e2e/stories/secrets.test.ts')('are rotated without one failed log-in'),
      rotation('recreates every consumer once and destroys the old version last'),
      testsIn('e2e/stories/rotation-crashes.deep.test.ts')('loses no log-in when the controllers die'),
    ),
    holds(
      'Out-of-order phase: rejected with rotation_transition_invalid',
      rotate(
        'refuses ${name}',
        "['a phase too early', [], { phase: 'promote' }, 'rotation_transition_invalid', 'phase', 'stage']",
      ),
      rotate('refuses the next phase until the current one is reached, and names what it waits for'),
    ),
    holds(
      'secretsVersion is raised by rotation',
      rotation('recreates every consumer once and destroys the old version last'),
      testsIn('e2e/stories/secrets.test.ts')('are rotated without one failed log-in'),
    ),
    holds(
      'Volume, mount request, phase is Ready: mount admitted',
      testsIn('crds/deployment/secrets.test.ts')(
        "${found[0] ?? 'accepts'}: ${JSON.stringify(given).slice(0, 120)}",
        '{ given: { ...one({ anchor: `volume(${exampleVolumes.ready})` }), volumes: [mount()] } }',
      ),
      testsIn('api/routes/deployment/write.test.ts')(
        'keeps ${field} unsent, replaces it sent, removes it by null, and does each once',
        "{ field: 'volumes', values: [[mount]",
      ),
    ),
    holds(
      'Any other phase (materializing, degraded): volume_not_ready',
      mounts(CODE_TITLE, "code: 'volume_not_ready'"),
    ),
    holds(
      'Snapshot creation: any request is refused with volume_snapshot_not_implemented',
      testsIn('api/routes/volume/routes.test.ts')('have no snapshots, and none can be made'),
    ),
  ),
  ...inSection(
    '3 Scheduling rules',
    holds(
      '1. Placement never crosses the tenant boundary',
      filters('reject a node of another tenant without naming the tenant'),
      model(
        'property: places no replica against a filter or on another tenant’s node, and rejects every node with a reason when some are left',
      ),
      life('runs beside a deployment of the same name of another tenant'),
    ),
    holds('2. The node the control plane itself runs on keeps the deployments already placed on it', controlPlaneNode),
    holds(
      '2. It accepts no new placement from any tenant except the platform',
      controlPlaneNode,
      filters('reject the control plane’s node for a tenant'),
      filters('accept the control plane’s node for the platform'),
    ),
    holds(
      '2. It is not reported as a fault',
      controlPlaneNode,
      monitor('the control plane’s node is ready without heartbeats'),
    ),
    holds(
      '2. Its liveness is read from the platform’s own record while fresh',
      controlPlaneNode,
      monitor('the liveness of the control plane’s node is read from the platform’s own record while that is fresh'),
      testsIn('pkg/process/platform-record.test.ts')('ends with its lease when its process is cut off, and comes back'),
    ),
    holds('2. It is never counted as impaired', controlPlaneNode, monitor('the control plane’s node never fails')),
    holds(
      '2. Nothing on a deployment overrides this',
      controlPlaneNode,
      filters('reject the control plane’s node although the deployment names it'),
    ),
    holds(
      '3. A request larger than any single node’s free capacity is not split',
      loops('a request larger than what any single node has free is not split over several'),
    ),
    holds(
      '3. Requests inform placement',
      filters('reject requests that do not fit'),
      testsIn('pkg/placement/fleet.test.ts')('prefers the node with the larger free share of what is requested'),
    ),
    holds(
      '3. Requests are not reservations',
      testsIn('controllers/scheduler/changes.test.ts')('can both be made without host ports: requests reserve nothing'),
      testsIn('pkg/agent/engine/docker/docker-engine.docker.test.ts')(
        'makes every container from the one security template',
      ),
    ),
    holds(
      '4. A quota that is reached stops new containers',
      placement('place no more than a quota allows, stop nothing, and continue when it is raised'),
      testsIn('controllers/quota-races.test.ts')('is not exceeded by a placement decided before it was lowered'),
    ),
    holds(
      '4. It does not shrink existing ones',
      loops('a quota that is lowered below what runs stops no container, and lets no new one start'),
    ),
  ),
];
