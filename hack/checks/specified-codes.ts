const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** The 83 codes that section 7 of the specification names. A literal list, so that none can get lost unseen. */
export const specifiedCodes: Readonly<Record<string, readonly string[]>> = {
  '7.1': words(`
    name_required deployment_name_invalid deployment_name_too_long reserved_infrastructure_name deployment_not_found
    manifest_wrong_kind image_required image_not_found registry_credential_store_unavailable replicas_negative
    replicas_out_of_range plaintext_credential_in_environment secrets_version_negative`),
  '7.2': words(`
    healthcheck_command_missing healthcheck_retries_below_floor healthcheck_timeout_below_floor healthcheck_type_inert
    healthcheck_type_unsupported`),
  '7.3': words(`
    anchored_secret_dropped anchored_secret_repointed secret_anchor_invalid secret_anchor_volume_ephemeral
    secret_anchor_volume_not_declared secret_compose_no_reference secret_compose_resource_undeclared
    secret_compose_template_empty secret_compose_template_malformed secret_generate_axis_conflict
    secret_generate_below_entropy_floor secret_generate_bytes_out_of_range secret_generate_charset_unknown
    secret_generate_encoding_unknown secret_generate_key_duplicate secret_generate_keys_required
    secret_generate_length_out_of_range secret_generate_would_persist secret_key_invalid
    secret_key_provided_and_generated secret_material_would_persist secret_mount_path_unsupported secret_name_invalid
    secret_path_name secret_path_namespace secret_path_namespace_split secret_path_shape secret_rotation_unsupported
    secret_value_empty secret_value_too_long secret_vault_path_not_relative secret_vault_path_required
    secret_write_empty rotation_transition_invalid`),
  '7.4': words(`
    node_candidates_unresolvable node_not_a_placement_candidate node_owned_by_another_tenant node_claim_release_no_tenant
    job_node_candidates_unresolvable job_node_not_found network_node_candidates_unresolvable
    network_node_not_a_candidate network_node_required network_option_unsupported_on_agent`),
  '7.5': words(`
    volume_access_mode_conflict volume_binding_unavailable volume_class_not_wired volume_mount_shape volume_not_found
    volume_not_ready volume_primary_mismatch volume_snapshot_not_found volume_snapshot_not_implemented
    dvm_recommendation_apply_invalid_spec dvm_recommendation_bad_parameter dvm_recommendation_insufficient_nodes
    dvm_recommendation_not_applicable dvm_recommendation_not_found dvm_recommendation_stale_measurement
    dvm_recommendation_tenant_required dvm_recommendation_unknown_action dvm_recommendation_unknown_priority
    dvm_recommendation_unknown_type dvm_recommendation_volume_missing query_parameter_unknown`),
};
