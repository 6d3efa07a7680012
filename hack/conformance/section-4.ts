import { CODE_TITLE } from '../checks/conformance.js';
import { holds, inSection, type Sentence, testsIn } from './sentence.js';

const backups = testsIn('api/routes/backup/routes.test.ts');
const archives = testsIn('api/routes/archive/routes.test.ts');
const http = testsIn('api/specification.test.ts');
const routes = testsIn('api/routes/deployment/routes.test.ts');
const change = testsIn('api/routes/deployment/write.test.ts');
const isolation = testsIn('api/access/isolation.test.ts');
const access = testsIn('api/access/authorise.test.ts');
const pipeline = testsIn('api/pipeline.test.ts');
const secrets = testsIn('api/routes/secret/routes.test.ts');
const rotate = testsIn('api/routes/rotation/routes.test.ts');
const nodes = testsIn('api/routes/node/routes.test.ts');
const claims = testsIn('api/routes/node/claims.test.ts');
const codes = testsIn('api/routes/deployment/deployment-codes.test.ts');
const secretCodes = testsIn('api/routes/deployment/secret-codes.test.ts');
const networkCodes = testsIn('api/routes/deployment/placement-codes.test.ts');
const recommendations = testsIn('api/routes/recommendation/routes.test.ts');
const recommendationCodes = testsIn('api/routes/recommendation/codes.test.ts');
const life = testsIn('e2e/stories/deployment-life.test.ts');
const residency = testsIn('e2e/stories/residency.test.ts');
const placement = testsIn('controllers/placement.test.ts');

const releasedByTenant = claims('are released only by a request that names the tenant');

/** Sections 4 to 6: endpoints, authentication, events. */
export const endpointSentences: readonly Sentence[] = [
  ...inSection(
    '4 Endpoints',
    holds(
      'Request and response bodies are JSON',
      http('is a JSON body, as every answer is'),
      pipeline('with ${JSON.stringify(headers)} are refused'),
    ),
    holds(
      'GET /api/v1/deployments: list of deployments of the tenant',
      http('is listed among those of its tenant, and never replaces one when it is created again'),
      isolation('shows nothing of another tenant in any list'),
    ),
    holds(
      'POST /api/v1/deployments creates',
      routes('are created with every default announced, and read back the same'),
    ),
    holds('POST: rejection per section 7', routes('are refused with every reason at once, and nothing is stored')),
    holds(
      'POST: alterations announced in body',
      routes('are created with every default announced, and read back the same'),
      testsIn('crds/deployment/property.test.ts')(
        'admission accepts it, and what is stored minus what was announced is what was sent',
      ),
    ),
    holds(
      'GET /api/v1/deployments/{name}: the stored deployment, including its secrets list',
      secrets('are shown by GET with everything but material'),
    ),
    holds(
      'PUT replaces sent fields outright',
      change('keeps ${field} unsent, replaces it sent, removes it by null, and does each once'),
    ),
    holds(
      'PUT: unknown name gives deployment_not_found',
      http('is never created by PUT'),
      codes(CODE_TITLE, "code: 'deployment_not_found'"),
    ),
    holds(
      'POST /api/v1/deployments/{name}/secrets/rotate advances rotation',
      rotate('passes through its phases, each requested once and repeatable'),
    ),
    holds(
      'Rotate raises secretsVersion',
      testsIn('controllers/rotation.test.ts')('recreates every consumer once and destroys the old version last'),
      testsIn('e2e/stories/secrets.test.ts')('are rotated without one failed log-in'),
    ),
    holds(
      'GET /api/v1/secrets/resources: every secret path referenced in the tenant',
      http('is listed with every path that deployments of the tenant refer to, and with none of another tenant'),
    ),
    holds(
      'GET /api/v1/secrets/resources/{name}/consumers: deployments that read that path',
      secrets('show the deployments that refer to them, and the keys used'),
    ),
    holds(
      'GET /api/v1/dvm/recommendations: recommendations; X-Tenant-ID required; optional query priority and type',
      recommendations(
        'are computed on every read from what is measured, the most urgent first, and vanish with their condition',
      ),
      recommendations('belong to the tenant that the header names'),
    ),
    holds(
      'Recommendations: unknown priority or type value rejected',
      recommendationCodes(CODE_TITLE, "code: 'dvm_recommendation_unknown_priority'"),
      recommendationCodes(CODE_TITLE, "code: 'dvm_recommendation_unknown_type'"),
    ),
    holds(
      'Unknown query parameter rejected',
      pipeline(
        'to ${path} are refused with ${code}',
        "['/api/v1/deployments?limt=1', 'query_parameter_unknown', 'limt']",
      ),
      testsIn('api/docs/fuzz.test.ts')('are refused when a query parameter is unknown'),
    ),
    holds(
      'GET /api/v1/dvm/volumes: volumes of the tenant',
      testsIn('api/routes/volume/routes.test.ts')('are stored, shown by id and by name, listed and announced'),
      testsIn('api/routes/volume/routes.test.ts')(
        'belong to a tenant: another one neither sees nor deletes nor mounts them',
      ),
    ),
    holds(
      'GET /api/v1/tenants/{tenant}/volumes/{id}/snapshots: snapshot records; normally empty',
      testsIn('api/routes/volume/routes.test.ts')('have no snapshots, and none can be made'),
    ),
    holds(
      'GET snapshots/{snap}: a snapshot record, else volume_snapshot_not_found',
      testsIn('api/routes/volume/routes.test.ts')('have no snapshots, and none can be made'),
    ),
    holds(
      'POST /api/v1/tenants/{tenant}/volumes/{id}/replicas adds a live copy on another node of a replicated volume',
      testsIn('api/routes/volume/replicas.test.ts')('are asked for on a node, by its name or its id, and once'),
    ),
    holds(
      'The copy is promoted if the primary is lost',
      testsIn('controllers/volumes.test.ts')(
        'with a copy are promoted when their node is lost, and what writes to them follows',
      ),
      testsIn('e2e/stories/volume-copies.test.ts')(
        'is promoted when the agent of the primary was killed, with every byte, and what wrote there is killed before',
      ),
      testsIn('e2e/stories/volume-database.deep.test.ts')(
        'has every record up to the reported lag when its machine is lost at any moment${name}',
      ),
    ),
    holds(
      'POST /api/v1/backups: point-in-time copy of the deployment configuration',
      backups('bring a deleted deployment back with the same hash, as the next revision of its name'),
      backups('bring a changed deployment back: every field of the backup, and no other'),
      backups('move a deployment to another installation, with the same hash and its history'),
      testsIn('e2e/stories/backups.test.ts')(
        'moves to another installation as a file, and runs there with the same hash and its history',
      ),
    ),
    holds(
      'A backup reads no volume bytes',
      backups('hold spec, hash, author, history, and a checksum over all of it'),
      testsIn('e2e/stories/backups.test.ts')('holds no value of a secret'),
    ),
    holds(
      'GET /api/v1/archives/deployments/{name}: versioned configuration history',
      archives(
        'answer every accepted configuration, with author, change and alterations, and nothing of a refused one',
      ),
      archives('answer the last fifty'),
      archives('answer the difference of two revisions'),
      archives('bring a revision back as a new one: every field of it, and no other'),
    ),
    holds(
      'GET /api/v1/events: published events, including deployment.unschedulable',
      life('says why every node refuses it'),
      residency('lets what matches nothing wait, says why of every node, and starts it when a node comes'),
    ),
    holds(
      'GET /api/v1/nodes: nodes of the tenant',
      nodes('join with a token of their tenant, and are shown with their free capacity'),
      isolation('shows nothing of another tenant in any list'),
    ),
    holds(
      'GET /api/v1/scheduler/regions: regions this control plane declares and whether enforcement is on',
      testsIn('api/routes/deployment/explain.test.ts')(
        'answers which regions are declared, and whether residency is enforced',
      ),
      http('that is not enforced is stored, and the answer says that enforcement is off'),
    ),
    holds(
      'GET /healthz: control-plane health, including whether the key-value store is connected',
      pipeline('for health and metrics need no token, and their answers name no tenant'),
      testsIn('api/routes/health/routes.test.ts')('degraded while the watch is away'),
      testsIn('api/api.etcd.test.ts')(
        'answers 503 and degraded health while etcd is unavailable, and recovers with it',
      ),
    ),
  ),
  ...inSection(
    '4 Operations',
    holds(
      'Secret write: body is either an object with values',
      http('is written with values or with generate, and generated by 32 random bytes unless it says otherwise'),
      secrets('are written in versions, and no value is ever answered or stored in clear'),
    ),
    holds(
      'Secret write: or an object with generate (object with keys array)',
      http('is written with values or with generate, and generated by 32 random bytes unless it says otherwise'),
    ),
    holds(
      'Secret write: a body with neither is rejected with secret_write_empty',
      secretCodes(CODE_TITLE, "code: 'secret_write_empty'"),
    ),
    holds(
      'Apply recommendation: takes a recommendation id and parameters; applicable must be true',
      recommendations('are applied to what was measured, with an event; a dry run says where and how long'),
      recommendationCodes(CODE_TITLE, "code: 'dvm_recommendation_not_applicable'"),
    ),
    holds(
      'Create network: takes name, driver, labels, internal and nodeId',
      testsIn('api/routes/network/routes.test.ts')('are stored on the only node, shown, listed and announced'),
      testsIn('crds/network/network.test.ts')('stores what was sent, except for what it announces'),
    ),
    holds(
      'Create network: nodeId required when more than one node is available',
      networkCodes(CODE_TITLE, "code: 'network_node_required'"),
    ),
    holds('Release node claim: requires header X-Tenant-ID holding the tenant UUID', releasedByTenant),
  ),
  ...inSection(
    '5 Authentication',
    holds(
      'Header X-Tenant-ID carries the tenant identifier',
      access('answers ${status} to a ${kind} token with ${name} in X-Tenant-ID'),
      access('lets an administrator act for the tenant it names, and for no other'),
    ),
    holds(
      'It is required for recommendation reads (missing gives dvm_recommendation_tenant_required)',
      recommendationCodes(CODE_TITLE, "code: 'dvm_recommendation_tenant_required'"),
      recommendations('belong to the tenant that the header names'),
    ),
    holds(
      'It is required for node claim release: must be the UUID of the releasing tenant; missing gives node_claim_release_no_tenant',
      releasedByTenant,
      testsIn('crds/node/requests.test.ts')('is refused with the tenant ${JSON.stringify(header)}'),
    ),
    holds(
      'Platform administrators choose a tenant in the dashboard, which supplies it',
      testsIn('e2e/dashboard/dashboard.test.ts')(
        'lets an administrator of the platform choose a tenant, and shows nothing of another',
      ),
    ),
    holds(
      'Secret paths are resolved inside the tenant’s own secrets mount',
      testsIn('pkg/secrets/resolve.test.ts')('does not read the credentials of another tenant'),
      testsIn('pkg/secrets/vault/vault-secret-store.test.ts')('sends every request to the mount of the tenant'),
    ),
    holds(
      'Absolute paths and .. are refused so that one tenant cannot reach another’s material',
      secretCodes(CODE_TITLE, "code: 'secret_vault_path_not_relative'"),
      testsIn('pkg/secrets/credential-path.test.ts')("refuse ${corpus.length} ways to escape the tenant's namespace"),
    ),
    holds(
      'A token gives what belongs to the tenant of the machine, hence a node registers to one tenant only',
      nodes('have one owner when two enrol under one name at the same time'),
      nodes('receive their own assignments and no others'),
      testsIn('api/routes/node/enrol.etcd.test.ts')('have exactly one owner, round after round of releases'),
    ),
  ),
  ...inSection(
    '6 Events',
    holds(
      'deployment.unschedulable is emitted when a deployment that has never been placed cannot be scheduled',
      testsIn('controllers/specification.test.ts')(
        '${name} that no node satisfies leaves no place to run, no container, and an event',
      ),
      testsIn('controllers/controllers.test.ts')(
        'report once why no replica can be placed, and place as soon as a node can take it',
      ),
    ),
    holds(
      'Content: every candidate node named with the reason each was rejected',
      placement('name every node with every reason in the event, and only counts in the status'),
      life('says why every node refuses it'),
      testsIn('api/routes/deployment/explain.test.ts')(
        'says why no node takes the third of three replicas that must be apart, and who is there',
      ),
    ),
    holds(
      'Residency refusals quote both the required value and the value the node reported',
      placement('name every node with every reason in the event, and only counts in the status'),
      testsIn('crds/residency/residency.test.ts')('quotes both what is required and what is reported'),
      testsIn('pkg/placement/filters.test.ts')('reject a node in another country and quote both'),
    ),
    holds(
      'Events are read with GET /api/v1/events',
      testsIn('api/routes/event/reader.test.ts')('are listed and watched as ${query} asks'),
      life('says why every node refuses it'),
    ),
  ),
];
