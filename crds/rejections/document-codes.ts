import type { RejectionCode } from './catalogue.js';

const codes = (...list: readonly RejectionCode[]): readonly RejectionCode[] => list;

const naming = codes('name_required', 'deployment_name_invalid', 'deployment_name_too_long');

/** What any document may be refused with. */
const fields = codes('field_invalid', 'field_unknown');

/** What the fields that deployments and jobs have in common are refused with. */
const workload = codes(
  ...fields,
  ...naming,
  'reserved_infrastructure_name',
  'manifest_wrong_kind',
  'image_required',
  'image_not_found',
  'registry_credential_store_unavailable',
  'plaintext_credential_in_environment',
  'environment_name_invalid',
  'environment_name_conflict',
  'secret_template_in_environment',
  'resources_quantity_invalid',
  'residency_label_handwritten',
  'residency_label_conflict',
  'residency_region_unknown',
  'residency_country_invalid',
  'label_invalid',
  'label_reserved',
);

/** What material is refused with, wherever it comes from. */
const material = codes(
  'secret_generate_axis_conflict',
  'secret_generate_below_entropy_floor',
  'secret_generate_bytes_out_of_range',
  'secret_generate_charset_unknown',
  'secret_generate_encoding_unknown',
  'secret_generate_key_duplicate',
  'secret_generate_keys_required',
  'secret_generate_length_out_of_range',
  'secret_key_invalid',
  'secret_key_provided_and_generated',
  'secret_value_empty',
  'secret_value_too_long',
  'secret_path_namespace',
  'secret_path_shape',
  'secret_store_unavailable',
  'secret_unreadable',
);

/** What references to secrets are refused with. */
const references = codes(
  ...material,
  'secret_anchor_invalid',
  'secret_anchor_volume_ephemeral',
  'secret_anchor_volume_not_declared',
  'secret_compose_no_reference',
  'secret_compose_resource_undeclared',
  'secret_compose_template_empty',
  'secret_compose_template_malformed',
  'secret_external_not_writable',
  'secret_generate_would_persist',
  'secret_material_would_persist',
  'secret_mount_path_unsupported',
  'secret_name_invalid',
  'secret_path_name',
  'secret_path_namespace_split',
  'secret_rotation_open',
  'secret_rotation_unsupported',
  'secret_vault_path_not_relative',
  'secret_vault_path_required',
);

const networks = codes('network_not_found', 'network_on_another_node', 'network_internal_port');

const mounts = codes(
  'volume_access_mode_conflict',
  'volume_binding_unavailable',
  'volume_class_not_wired',
  'volume_mount_shape',
  'volume_not_found',
  'volume_not_ready',
  'volume_primary_mismatch',
);

const deployment = codes(
  ...workload,
  ...references,
  ...mounts,
  ...networks,
  'document_too_large',
  'replicas_negative',
  'replicas_out_of_range',
  'secrets_version_negative',
  'restart_policy_jobs_only',
  'port_invalid',
  'port_duplicate',
  'healthcheck_command_missing',
  'healthcheck_retries_below_floor',
  'healthcheck_timeout_below_floor',
  'healthcheck_type_inert',
  'healthcheck_type_unsupported',
  'node_candidates_unresolvable',
  'node_not_a_placement_candidate',
  'depends_on_self',
  'depends_on_cycle',
  'depends_on_no_health_check',
  'depends_on_duplicate',
);

/** What the documents of each kind are refused with, for the descriptors of kinds. */
export const documentCodes = {
  deploymentCreate: codes(...deployment, 'deployment_already_exists', 'outcome_unknown'),
  deploymentChange: codes(
    ...deployment,
    'anchored_secret_dropped',
    'anchored_secret_repointed',
    'health_check_needed',
    'field_immutable',
    'deployment_not_found',
    'deployment_being_deleted',
    'revision_mismatch',
    'outcome_unknown',
  ),
  job: codes(
    ...workload,
    ...references,
    ...mounts,
    ...networks,
    'document_too_large',
    'job_node_candidates_unresolvable',
    'job_node_not_found',
    'feature_not_available',
    'resource_already_exists',
    'outcome_unknown',
  ),
  network: codes(
    ...fields,
    'label_invalid',
    'label_reserved',
    'network_node_candidates_unresolvable',
    'network_node_not_a_candidate',
    'network_node_required',
    'network_option_unsupported_on_agent',
    'resource_already_exists',
    'quota_reached',
    'outcome_unknown',
  ),
  volume: codes(
    ...fields,
    'volume_binding_unavailable',
    'volume_replica_unsupported',
    'node_candidates_unresolvable',
    'node_not_a_placement_candidate',
    'residency_country_invalid',
    'residency_region_unknown',
    'feature_not_available',
    'resource_already_exists',
    'quota_reached',
    'outcome_unknown',
  ),
  secretWrite: codes(
    ...fields,
    ...material,
    'secret_external_not_writable',
    'secret_write_empty',
    'secret_rotation_open',
    'quota_reached',
    'outcome_unknown',
  ),
  rotation: codes(
    ...fields,
    ...material,
    'secret_external_not_writable',
    'secret_write_empty',
    'rotation_transition_invalid',
    'deployment_not_found',
    'deployment_being_deleted',
    'revision_mismatch',
    'outcome_unknown',
  ),
  canary: codes(
    ...fields,
    'canary_not_under_way',
    'deployment_not_found',
    'deployment_being_deleted',
    'revision_mismatch',
    'outcome_unknown',
  ),
  scaling: codes(
    ...fields,
    'replicas_out_of_range',
    'scaling_range_invalid',
    'scaling_target_required',
    'scaling_request_missing',
    'deployment_not_found',
    'deployment_being_deleted',
    'revision_mismatch',
    'outcome_unknown',
  ),
  request: fields,
} as const;
