import { CODE_TITLE } from '../checks/conformance.js';
import { holds, inSection, type SectionRow, type Sentence, type TestReference, testsIn } from './sentence.js';

const deployment = testsIn('api/routes/deployment/deployment-codes.test.ts')(CODE_TITLE);
const secret = testsIn('api/routes/deployment/secret-codes.test.ts')(CODE_TITLE);
const placement = testsIn('api/routes/deployment/placement-codes.test.ts')(CODE_TITLE);
const volume = testsIn('api/routes/volume/codes.test.ts')(CODE_TITLE);
const recommendation = testsIn('api/routes/recommendation/codes.test.ts')(CODE_TITLE);
const gate = testsIn('api/routes/secret/routes.test.ts');
const rotate = testsIn('api/routes/rotation/routes.test.ts');
const nodes = testsIn('api/routes/node/routes.test.ts');
const claims = testsIn('api/routes/node/claims.test.ts');
const pipeline = testsIn('api/pipeline.test.ts');

/** A code that a test over HTTP earns, at the field that the specification names, and after which nothing is stored. */
function earned(code: string, field: string, condition: string, test: TestReference): SectionRow {
  return {
    text: `${code} (${field}): ${condition}`,
    rejection: { code, field },
    tests: [test],
  };
}

const d = (code: string, field: string, condition: string) => earned(code, field, condition, deployment);
const s = (code: string, field: string, condition: string) => earned(code, field, condition, secret);
const p = (code: string, field: string, condition: string) => earned(code, field, condition, placement);
const r = (code: string, field: string, condition: string) => earned(code, field, condition, recommendation);
const v = (code: string, field: string, condition: string) => earned(code, field, condition, volume);

/** Section 7: what every rejection is, and each code with the field it is earned at. */
export const codeSentences: readonly Sentence[] = [
  ...inSection(
    '7 Errors',
    holds(
      'Body shape: the rejection record of 2.1',
      testsIn('api/specification.test.ts')('has code, field, received, expected, why and doc, each of them a string'),
    ),
    holds('Rejections store nothing', deployment, secret, placement),
    holds(
      'Where a placeholder like <n> appears it stands for a number given in the rejection text',
      testsIn('api/specification.test.ts')(
        'has replicas from 0 to max_replicas_per_deployment, which is configuration',
      ),
    ),
  ),
  ...inSection(
    '7.1',
    d('name_required', 'name', 'name missing'),
    d(
      'deployment_name_invalid',
      'name',
      'not lowercase letters, digits, hyphens, starting with a letter, ending with letter or digit',
    ),
    d('deployment_name_too_long', 'name', 'over the character maximum'),
    d('reserved_infrastructure_name', 'name', 'name reserved for the database the control plane itself connects to'),
    d('deployment_not_found', 'name, deployment_id', 'PUT to a deployment that does not exist'),
    d('manifest_wrong_kind', 'kind', 'kind is not Deployment'),
    d('image_required', 'image', 'image missing; pinned reference, never latest'),
    d('image_not_found', 'image', 'registry confirms no manifest for the exact reference'),
    d('registry_credential_store_unavailable', 'image', 'control plane cannot reach its credential store'),
    holds(
      'A registry that is merely unreachable is allowed through with a warning',
      testsIn('api/admission/facts.test.ts')('accepts an image whose registry is unreachable, with a warning'),
      testsIn('e2e/stories/images.test.ts')('is accepted while its registry is away, with a warning'),
    ),
    holds(
      'image_not_found: push it first',
      testsIn('e2e/stories/images.test.ts')('is found, or is refused until it is pushed'),
    ),
    holds(
      'registry_credential_store_unavailable: the request is fine, retry when healthy',
      testsIn('api/admission/facts.test.ts')('names the time to retry after'),
    ),
    d('replicas_negative', 'replicas', 'below 0'),
    d('replicas_out_of_range', 'replicas', 'integer outside 0 to max_replicas_per_deployment'),
    d('plaintext_credential_in_environment', 'environment.<key>', 'credential in environment'),
    holds(
      'plaintext_credential_in_environment: reference the secrets store with a secrets entry whose vault_path is deployments/<name>',
      testsIn('api/specification.test.ts')(
        'with a credential in its environment is told to refer to deployments/<name> in a secrets entry',
      ),
    ),
    d('secrets_version_negative', 'secretsVersion', 'negative'),
  ),
  ...inSection(
    '7.2',
    d('healthcheck_command_missing', 'healthCheck.command', 'exec without a command'),
    d('healthcheck_retries_below_floor', 'healthCheck.retries', 'below floor'),
    d('healthcheck_timeout_below_floor', 'healthCheck.timeout', 'below floor (10s)'),
    d('healthcheck_type_inert', 'healthCheck.type', 'declaration would create no check'),
    d('healthcheck_type_unsupported', 'healthCheck.type', 'anything other than exec'),
  ),
  ...inSection(
    '7.3',
    s('anchored_secret_dropped', 'secrets', 'update drops a secret anchored to a volume still mounted'),
    s('anchored_secret_repointed', 'computed', 'vault_path of an anchored secret changed'),
    s('secret_anchor_invalid', 'computed', 'not process, external or volume(<volume-id>)'),
    s('secret_anchor_volume_ephemeral', 'computed', 'anchor volume is tmpfs'),
    s('secret_anchor_volume_not_declared', 'computed', 'anchor volume not declared in the spec'),
    s('secret_compose_no_reference', 'computed', 'template without a placeholder'),
    s('secret_compose_resource_undeclared', 'computed', 'placeholder resource not declared by the deployment'),
    s('secret_compose_template_empty', 'computed', 'empty template'),
    s('secret_compose_template_malformed', 'computed', 'placeholder not of form {{secret.<resource>.<key>}}'),
    s('secret_generate_axis_conflict', 'generate', 'bytes/encoding combined with length/charset'),
    s('secret_generate_below_entropy_floor', 'generate.length', 'entropy below the platform floor in bits'),
    s(
      'secret_generate_bytes_out_of_range',
      'generate.bytes',
      'outside allowed range or above the encoded-length ceiling',
    ),
    s('secret_generate_charset_unknown', 'generate.charset', 'not one of three alphabets'),
    s('secret_generate_encoding_unknown', 'generate.encoding', 'not one of three encodings'),
    s('secret_generate_key_duplicate', 'computed', 'a key listed twice'),
    s('secret_generate_keys_required', 'generate.keys', 'empty keys'),
    s('secret_generate_length_out_of_range', 'generate.length', 'outside 1 to maximum'),
    earned(
      'secret_generate_would_persist',
      'secrets[<i>].generate',
      'generate block present at persist time',
      gate(
        'are kept out of the store by its last gate: ${code}, ${encode(material).toString()}',
        "['generate', { keys: ['password'] }, 'secret_generate_would_persist']",
      ),
    ),
    s('secret_key_invalid', 'computed', 'key not matching [A-Za-z_][A-Za-z0-9_]*'),
    s('secret_key_provided_and_generated', 'computed', 'key in both values and generate.keys'),
    earned(
      'secret_material_would_persist',
      'secrets[<i>].values',
      'values present at persist time',
      gate(
        'are kept out of the store by its last gate: ${code}, ${encode(material).toString()}',
        "['values', { password: VALUE }, 'secret_material_would_persist']",
      ),
    ),
    s('secret_mount_path_unsupported', 'secrets[<i>].mount_path', 'mount_path set'),
    s('secret_name_invalid', 'secrets[<i>].name', 'not [A-Za-z0-9_]+'),
    s('secret_path_name', 'computed', 'path after the namespace is not a DNS label of 1-63 characters'),
    s('secret_path_namespace', 'computed, namespace', 'namespace not granted by the secrets policy'),
    s('secret_path_namespace_split', 'secrets[<i>].vault_path', 'one credential referenced under two namespaces'),
    s('secret_path_shape', 'computed, resource', 'path outside a granted namespace or wrongly shaped'),
    s('secret_rotation_unsupported', 'secrets[<i>].rotation', 'anything other than restart'),
    s('secret_value_empty', 'computed', 'empty value'),
    s('secret_value_too_long', 'computed', 'value above the byte limit'),
    s('secret_vault_path_not_relative', 'secrets[<i>].vault_path', 'leading slash or .. element'),
    s('secret_vault_path_required', 'secrets[<i>].vault_path', 'missing'),
    s('secret_write_empty', 'values', 'write with neither values nor generate'),
    earned(
      'rotation_transition_invalid',
      'phase',
      'phase not the next in order from the current phase',
      rotate(
        'refuses ${name}',
        "['a phase too late', ['stage'], { phase: 'retire' }, 'rotation_transition_invalid', 'phase', 'promote']",
      ),
    ),
  ),
  ...inSection(
    '7.4',
    p('node_candidates_unresolvable', 'nodeId', 'no node registered under the tenant, or node store unreadable'),
    holds(
      'node_candidates_unresolvable: enroll one or omit nodeId',
      testsIn('crds/deployment/admission.test.ts')(
        'lets a deployment without one pass when they are ${JSON.stringify(nodes)}',
      ),
    ),
    holds('node_candidates_unresolvable: also when the node store is unreadable', {
      ...placement,
      row: "code: 'node_candidates_unresolvable', status: 503",
    }),
    p('node_not_a_placement_candidate', 'nodeId', 'node outside the tenant’s enrolled set'),
    earned(
      'node_owned_by_another_tenant',
      'nodeName',
      'node name already registered to another tenant',
      nodes('cannot take a name from another tenant, nor from another machine'),
    ),
    earned(
      'node_claim_release_no_tenant',
      'X-Tenant-ID',
      'release without tenant UUID',
      claims('are released only by a request that names the tenant'),
    ),
    p('job_node_candidates_unresolvable', 'nodeId', 'no node with a reachable agent could be listed'),
    holds(
      'job_node_candidates_unresolvable: also when nodes are enrolled and no agent of them is reached',
      testsIn('api/routes/deployment/placement-codes.test.ts')(
        CODE_TITLE,
        "['no agent of a node that is enrolled is reached', 'nodeId', job({ nodeId: 'machine-1' }, '')]",
      ),
    ),
    p('job_node_not_found', 'nodeId', 'unknown node for a job'),
    p('network_node_candidates_unresolvable', 'nodeId', 'no nodes registered for the tenant, or store unreachable'),
    p('network_node_not_a_candidate', 'nodeId', 'tenant cannot place workloads on the named node'),
    p('network_node_required', 'nodeId', 'more than one node available and none named'),
    p('network_option_unsupported_on_agent', 'computed', 'option beyond name, driver, labels, internal'),
  ),
  ...inSection(
    '7.5',
    p('volume_access_mode_conflict', 'computed', 'second read-write consumer of a ReadWriteOnce volume'),
    p('volume_binding_unavailable', 'volumes', 'distributed mounts while volume management is disabled'),
    p('volume_class_not_wired', 'computed', 'class other than ephemeral or replicated'),
    p('volume_mount_shape', 'volumes[<i>].<field>', 'malformed mount'),
    p('volume_not_found', 'computed', 'reference does not resolve to a volume owned by the tenant'),
    p('volume_not_ready', 'computed', 'volume phase is not Ready'),
    p('volume_primary_mismatch', 'nodeId', 'read-write mount with nodeId not equal to the volume’s primary'),
    v('volume_snapshot_not_found', 'snapshots/{snap}', 'no such snapshot record'),
    v('volume_snapshot_not_implemented', 'computed', 'any snapshot creation; no body can succeed'),
    r('dvm_recommendation_apply_invalid_spec', 'spec', 'applied change yields an invalid volume spec'),
    r('dvm_recommendation_bad_parameter', 'parameters.<name>', 'bad parameter'),
    r(
      'dvm_recommendation_insufficient_nodes',
      'parameters.target_replicas',
      'fewer than replicas plus one enrolled nodes',
    ),
    r('dvm_recommendation_not_applicable', 'id', 'applicable is false'),
    r('dvm_recommendation_not_found', 'id', 'id not in the current list for the tenant'),
    r('dvm_recommendation_stale_measurement', 'parameters.target_size_bytes', 'below what the volume currently holds'),
    r('dvm_recommendation_tenant_required', 'X-Tenant-ID', 'header missing'),
    r('dvm_recommendation_unknown_action', 'parameters.action', 'not one of the implemented action verbs'),
    r('dvm_recommendation_unknown_priority', 'priority', 'not a known priority'),
    r('dvm_recommendation_unknown_type', 'type', 'not a known type'),
    r('dvm_recommendation_volume_missing', 'volume_id', 'volume deleted or moved since computation'),
    earned(
      'query_parameter_unknown',
      'computed',
      'unknown query parameter',
      pipeline(
        'to ${path} are refused with ${code}',
        "['/api/v1/deployments?limt=1', 'query_parameter_unknown', 'limt']",
      ),
    ),
  ),
];
