import { CODE_TITLE } from '../checks/conformance.js';
import { holds, inSection, notBuilt, type Sentence, testsIn } from './sentence.js';

const http = testsIn('api/specification.test.ts');
const loops = testsIn('controllers/specification.test.ts');
const record = testsIn('crds/rejections/reject.test.ts');
const codes = testsIn('api/routes/deployment/deployment-codes.test.ts');
const mounts = testsIn('api/routes/deployment/placement-codes.test.ts');
const routes = testsIn('api/routes/deployment/routes.test.ts');
const change = testsIn('api/routes/deployment/write.test.ts');
const create = testsIn('crds/deployment/create.test.ts');
const admission = testsIn('crds/deployment/admission.test.ts');
const image = testsIn('crds/grammar/image-reference.test.ts');
const images = testsIn('e2e/stories/images.test.ts');
const fact = testsIn('api/admission/facts.test.ts');
const life = testsIn('e2e/stories/deployment-life.test.ts');
const template = testsIn('crds/replica/index.test.ts');
const rotation = testsIn('controllers/rotation.test.ts');
const placement = testsIn('controllers/placement.test.ts');
const keeper = testsIn('controllers/replica-keeper/decide.test.ts');
const roller = testsIn('controllers/status-roller/decide.test.ts');
const container = testsIn('pkg/agent/engine/docker/docker-container.test.ts');
const engine = testsIn('pkg/agent/engine/docker/docker-engine.docker.test.ts');

const CREATE_CASE = "${code ?? 'accepts'}: ${JSON.stringify(given).slice(0, 80)}";
const eachString = http('has code, field, received, expected, why and doc, each of them a string');

/** Sections 2.1 to 2.3: the rejection record, the deployment, its health check. */
export const deploymentSentences: readonly Sentence[] = [
  ...inSection(
    '2.1 Rejection record',
    holds('code: stable machine-readable error code', eachString, record('carries the record of the specification')),
    holds('field: path of the field that failed, e.g. healthCheck.timeout, or a computed path', eachString),
    holds('received: the value received', eachString, record('is the JSON of a value that fits')),
    holds('expected: the accepted form', eachString, record('carries the record of the specification')),
    holds('why: human-readable reason', eachString, record('carries the record of the specification')),
    holds(
      'doc: link to reference documentation',
      http('links to a page of reference documentation that is there'),
      testsIn('api/pipeline.test.ts')('for the page of any code are answered, for people and for programs'),
    ),
  ),
  ...inSection(
    '2.2 Deployment description',
    holds(
      'kind must be Deployment',
      create(CREATE_CASE, "{ given: { kind: 'deployment' }, code: 'manifest_wrong_kind'"),
    ),
    holds(
      'Any other kind (e.g. a Job document) is rejected with manifest_wrong_kind',
      codes(CODE_TITLE, "code: 'manifest_wrong_kind'"),
    ),
    holds('name: required', codes(CODE_TITLE, "code: 'name_required'")),
    holds(
      'name: lowercase letters, digits and hyphens only; starts with a letter; ends with a letter or digit',
      codes(CODE_TITLE, "code: 'deployment_name_invalid'"),
      http('may have a name of 63 letters, digits and hyphens, which is a segment of its key verbatim'),
    ),
    holds(
      'name: at most 63 characters',
      codes(CODE_TITLE, "code: 'deployment_name_too_long'"),
      http('may have a name of 63 letters, digits and hyphens, which is a segment of its key verbatim'),
    ),
    holds(
      'name is used verbatim as container name (and prefix)',
      testsIn('pkg/agent/container-spec.test.ts')(
        'uses the name of the deployment verbatim as its name or the prefix of it, and as its only DNS alias',
      ),
      testsIn('pkg/agent/agent.test.ts')('pulls, creates, starts and reports an assigned replica'),
    ),
    notBuilt('reverse proxy', 'name is used verbatim as reverse-proxy router id'),
    holds(
      'name is used verbatim as DNS alias on the tenant network',
      testsIn('pkg/agent/container-spec.test.ts')(
        'uses the name of the deployment verbatim as its name or the prefix of it, and as its only DNS alias',
      ),
      engine('lets containers of a tenant find each other by name'),
    ),
    holds(
      'name is used verbatim as key-value path segment',
      http('may have a name of 63 letters, digits and hyphens, which is a segment of its key verbatim'),
      testsIn('crds/keys/keys.test.ts')('never let a name reach into another tenant'),
    ),
    holds('image: required', codes(CODE_TITLE, "['none', 'image', web({ image: undefined })]")),
    holds(
      'image: a pinned reference, never the latest tag',
      codes(CODE_TITLE, "['latest', 'image', web({ image: 'registry.example.com/web:latest' })]"),
      image("takes ${text.slice(0, 30)} for ${pinned ? 'pinned' : 'unpinned'}"),
    ),
    holds(
      'The registry must already hold a manifest for the exact reference',
      images('is found, or is refused until it is pushed'),
      fact('refuses a new deployment with ${code}, and stores nothing', "code: 'image_not_found'"),
    ),
    holds(
      'replicas: 0 up to max_replicas_per_deployment',
      http('has replicas from 0 to max_replicas_per_deployment, which is configuration'),
    ),
    holds(
      'replicas 0 stops the deployment without deleting it',
      http('is not deleted by replicas 0'),
      loops('a deployment with replicas 0 is stopped, and neither deleted nor forgotten'),
      life('stops without being deleted, and starts again'),
    ),
    holds('replicas: integer', codes(CODE_TITLE, "['a fraction', 'replicas', web({ replicas: 1.5 })]")),
    holds('replicas: negative is rejected', codes(CODE_TITLE, "code: 'replicas_negative'")),
    holds(
      'nodeId: optional; omit it to let the scheduler place',
      admission('lets a deployment without one pass when they are ${JSON.stringify(nodes)}'),
      testsIn('controllers/controllers.test.ts')(
        'bring a deployment up, scale it, roll it, and remove it without a trace',
      ),
    ),
    holds(
      'nodeId must be an enrolled node that is a placement candidate for the deployment’s tenant',
      mounts(CODE_TITLE, "code: 'node_not_a_placement_candidate'"),
      mounts(CODE_TITLE, "['an id of another tenant', 'nodeId', bare(web({ nodeId: machine1 }))]"),
    ),
    holds(
      'For a read-write mount of a replicated volume nodeId must equal the volume’s current primary node',
      mounts(CODE_TITLE, "code: 'volume_primary_mismatch'"),
    ),
    holds(
      'nodeId omitted beside a read-write mount: placement follows the volume',
      testsIn('e2e/stories/volumes.test.ts')('are made on one node, and what mounts them runs there'),
    ),
    holds(
      'environment: map string to string',
      create(
        CREATE_CASE,
        "{ given: { environment: { PORT: 8080 } }, code: 'field_invalid', field: 'environment.PORT' }",
      ),
    ),
    holds(
      'environment: constants only; a credential placed here is rejected',
      codes(CODE_TITLE, "code: 'plaintext_credential_in_environment'"),
      testsIn('crds/workload/credential.test.ts')('stops ${name}'),
    ),
    holds(
      'secretsVersion: rotation counter covered by the spec hash',
      template(
        "${recreated ? 'changes' : 'keeps'} its hash with ${name}",
        "['other secrets', { secretsVersion: 1 }, true]",
      ),
    ),
    holds(
      'secretsVersion: 0 on a new spec',
      http('has secretsVersion 0 when it is new, whatever was sent, and says so'),
    ),
    holds(
      'Afterwards only the rotation operation raises secretsVersion',
      change('leaves secretsVersion to rotations when it is sent as ${sent}'),
      admission('cannot move secretsVersion either way'),
      rotation('recreates every consumer once and destroys the old version last'),
    ),
    holds('secretsVersion: negative is rejected', codes(CODE_TITLE, "code: 'secrets_version_negative'")),
    holds(
      'volumes: each entry mounts a distributed volume by its typed ID',
      testsIn('e2e/stories/volumes.test.ts')('are made on one node, and what mounts them runs there'),
      testsIn('e2e/stories/volumes.test.ts')(
        'keep their bytes when the container is replaced, and never have two writers at once',
      ),
    ),
    holds(
      'A dependency may require another deployment to be healthy',
      placement('start a deployment when its dependency is healthy, and keep it running afterwards'),
      testsIn('e2e/stories/residency.test.ts')('waits for a dependency to be healthy before it starts'),
    ),
    holds(
      'The gate relies on the health check',
      mounts(CODE_TITLE, "code: 'depends_on_no_health_check'"),
      mounts(CODE_TITLE, "code: 'health_check_needed'"),
    ),
    holds(
      'GET by name returns what was stored',
      routes('are created with every default announced, and read back the same'),
    ),
  ),
  ...inSection(
    '2.3 healthCheck',
    holds('type: the only accepted value is exec', codes(CODE_TITLE, "code: 'healthcheck_type_unsupported'")),
    holds(
      'A declaration that produces no real container check (inert) is rejected',
      codes(CODE_TITLE, "code: 'healthcheck_type_inert'"),
    ),
    holds(
      'The check is the gate of a rolling update',
      keeper('not to continue a roll-out while the new replica does not serve yet'),
      life('rolls a changed image one replica after the other, each when one more is healthy'),
    ),
    holds('command: required for exec', codes(CODE_TITLE, "code: 'healthcheck_command_missing'")),
    holds('Shell form: one string holding the whole command line', container('gives one element to the shell')),
    holds('argv form: one element per argument', container('passes several elements as they are')),
    holds(
      'retries: at or above a floor',
      codes(CODE_TITLE, "code: 'healthcheck_retries_below_floor'"),
      http('may have a health check at the floors of retries and timeout, or leave both to the runtime'),
    ),
    holds(
      'retries: or omit to take the container runtime default',
      http('may have a health check at the floors of retries and timeout, or leave both to the runtime'),
      container('leaves retries and timeout to the runtime where they are omitted'),
    ),
    holds(
      'One unhealthy container degrades the whole deployment',
      roller('${given.name}: ${given.phase}', "name: 'one is unhealthy'"),
      engine('reports an unhealthy container'),
    ),
    holds(
      'timeout: at or above a floor of 10s',
      codes(CODE_TITLE, "code: 'healthcheck_timeout_below_floor'"),
      http('may have a health check at the floors of retries and timeout, or leave both to the runtime'),
    ),
    holds(
      'timeout: duration string (e.g. 10s)',
      codes(CODE_TITLE, "['unreadable', 'healthCheck.timeout', check({ timeout: 'soon' })]"),
    ),
    holds(
      'timeout: or omit to take the runtime default of 30s',
      container('leaves retries and timeout to the runtime where they are omitted'),
    ),
    holds(
      'A timed-out exec is killed with SIGKILL',
      engine('kills a health check that exceeds its timeout with SIGKILL'),
    ),
  ),
];
