import { exampleDeployment, defineEntries, exampleSecret } from './entry.js';

const generate = (fields: Readonly<Record<string, unknown>>) => ({ generate: { keys: ['password'], ...fields } });

/** Section 7.3: secret values, given or generated, and their rotation. */
export const secretMaterialRejections = defineEntries('7.3', {
  secret_generate_axis_conflict: {
    expected: 'either bytes and encoding, or length and charset',
    why: 'Each pair describes another way to generate the same value.',
    remedy: 'Remove one of the two pairs.',
    example: generate({ bytes: 32, length: 40 }),
    fixed: generate({ bytes: 32 }),
  },

  secret_generate_below_entropy_floor: {
    expected: ({ bits, least }: { bits: number; least: number }) =>
      `at least ${least} characters of this charset, for ${bits} bits of entropy`,
    sample: { bits: 128, least: 22 },
    why: 'A shorter value could be guessed.',
    remedy: 'Raise length, or choose a larger charset.',
    example: generate({ length: 12 }),
    fixed: generate({ length: 32 }),
  },

  secret_generate_bytes_out_of_range: {
    expected: ({ min, max }: { min: number; max: number }) => `an integer from ${min} to ${max} for this encoding`,
    sample: { min: 16, max: 3072 },
    why: 'Fewer bytes could be guessed; more exceed what the secrets store holds.',
    remedy: 'Choose a number in the range, or leave bytes out.',
    example: generate({ bytes: 8 }),
    fixed: generate({ bytes: 32 }),
  },

  secret_generate_charset_unknown: {
    expected: ({ known }: { known: readonly string[] }) => `one of ${known.join(', ')}`,
    sample: { known: ['alphanumeric', 'urlsafe', 'symbols'] },
    why: 'The alphabet is unknown, so the strength of the value cannot be computed.',
    remedy: 'Choose one of the alphabets.',
    example: generate({ length: 32, charset: 'emoji' }),
    fixed: generate({ length: 32, charset: 'urlsafe' }),
  },

  secret_generate_encoding_unknown: {
    expected: ({ known }: { known: readonly string[] }) => `one of ${known.join(', ')}`,
    sample: { known: ['hex', 'base64', 'base64url'] },
    why: 'Random bytes are stored as text, in one of the known encodings.',
    remedy: 'Choose one of the encodings, or leave encoding out.',
    example: generate({ encoding: 'base32' }),
    fixed: generate({ encoding: 'base64url' }),
  },

  secret_generate_key_duplicate: {
    expected: 'each key once',
    why: 'Each key has one value, so it can be generated once.',
    remedy: 'Remove the repetition.',
    example: { generate: { keys: ['password', 'password'] } },
    fixed: { generate: { keys: ['password'] } },
  },

  secret_generate_keys_required: {
    expected: 'a list of at least one key',
    why: 'Without keys there is nothing to generate.',
    remedy: 'Name the keys.',
    example: { generate: { keys: [] } },
    fixed: { generate: { keys: ['password'] } },
  },

  secret_generate_length_out_of_range: {
    expected: ({ max }: { max: number }) => `an integer from 1 to ${max}`,
    sample: { max: 4096 },
    why: 'The length must be at least 1 and at most what the secrets store holds.',
    remedy: 'Set length to a number in the range.',
    example: generate({ length: 100_000 }),
    fixed: generate({ length: 64 }),
  },

  secret_generate_would_persist: {
    expected: 'an entry without generate',
    why: 'A stored document must not contain an instruction to generate a credential again.',
    remedy: 'Report this to the operator of the platform: generate has to be stripped before anything is stored.',
    echo: 'never',
    example: 'a stored record whose secrets[0] still has generate',
    fixed: 'the same record without it',
  },

  secret_key_invalid: {
    expected: 'a letter or underscore, then letters, digits and underscores, at most 128',
    why: 'The key becomes the end of an environment variable’s name.',
    remedy: 'Rename the key.',
    example: { values: { 'pass-word': '…' } },
    fixed: { values: { pass_word: '…' } },
  },

  secret_key_provided_and_generated: {
    expected: 'the key in values or in generate.keys, not in both',
    why: 'Each key has one value, and two are given.',
    remedy: 'Remove the key from one of them.',
    example: { values: { password: '…' }, generate: { keys: ['password'] } },
    fixed: { values: { user: '…' }, generate: { keys: ['password'] } },
  },

  secret_material_would_persist: {
    expected: 'an entry without values',
    why: 'Credentials live in the secrets store only; a stored deployment holds references.',
    remedy: 'Report this to the operator of the platform: values have to be stripped before anything is stored.',
    echo: 'never',
    example: 'a stored record whose secrets[0] still has values',
    fixed: 'the same record without them',
  },

  secret_value_empty: {
    expected: 'a value that is not empty',
    why: 'An empty value is no credential, and some programs accept it as a valid one.',
    remedy: 'Send the value, or leave the key out.',
    echo: 'never',
    example: { values: { password: '' } },
    fixed: { values: { password: '…' } },
  },

  secret_value_too_long: {
    expected: ({ max }: { max: number }) => `at most ${max} bytes`,
    sample: { max: 65_536 },
    why: 'The value has to fit into the environment of a process and into the secrets store.',
    remedy: 'Store large data on a volume, and only its key as a secret.',
    echo: 'never',
    example: 'PUT /api/v1/secrets/deployments/web-db with a value of 128 KiB',
    fixed: 'PUT /api/v1/secrets/deployments/web-db with a value of 1 KiB',
  },

  secret_write_empty: {
    expected: 'values, generate, or both with different keys',
    why: 'Without either, the secret would have no value.',
    remedy: 'Send values or generate.',
    echo: 'never',
    example: {},
    fixed: { generate: { keys: ['password'] } },
  },

  rotation_transition_invalid: {
    status: 409,
    expected: ({ next, waitsFor }: { next: string; waitsFor?: string | undefined }) =>
      waitsFor === undefined ? next : `${next}, which waits for ${waitsFor}`,
    sample: { next: 'promote' },
    why: 'If the phases were out of order, there would be a moment at which no credential is valid.',
    remedy: 'Send the phase that is accepted now; GET …/secrets/rotation shows it.',
    example: 'POST /api/v1/deployments/web/secrets/rotate with {"phase": "retire"} after stage',
    fixed: 'POST /api/v1/deployments/web/secrets/rotate with {"phase": "promote"} after stage',
  },

  secret_external_not_writable: {
    section: 'ours',
    expected: 'no generate, and no values in a document, for a secret with the anchor external',
    why: 'External material is managed elsewhere: the platform never generates it, and no document overwrites it.',
    remedy:
      'Remove values and generate, or choose another anchor in every deployment that refers to it. Its owner supplies it with PUT /api/v1/secrets/{namespace}/{resource} and values.',
    echo: 'never',
    example: exampleDeployment({ secrets: [exampleSecret({ anchor: 'external', generate: { keys: ['password'] } })] }),
    fixed: exampleDeployment({ secrets: [exampleSecret({ anchor: 'external' })] }),
  },

  secret_rotation_open: {
    section: 'ours',
    status: 409,
    expected: ({ label }: { label: string }) => `no change to ${label} until its rotation has ended`,
    sample: { label: 'web-db' },
    why: 'While the credential is rotated, a third version or another consumer would leave containers without a valid version.',
    remedy: 'Complete the rotation or abort it; GET /api/v1/deployments/{name}/secrets/rotation shows its phase.',
    example: 'PUT /api/v1/secrets/deployments/web-db while web-db is being rotated',
    fixed: 'POST /api/v1/deployments/web/secrets/rotate with {"phase": "abort"}, then the same PUT',
  },

  secret_in_use: {
    section: 'ours',
    status: 409,
    expected: ({ users }: { users: readonly string[] }) =>
      `a secret that no deployment refers to; referred to by ${users.join(', ')}`,
    sample: { users: ['web', 'worker'] },
    why: 'New containers of those deployments could not start without it.',
    remedy: 'Remove the reference from those deployments first.',
    example: 'DELETE /api/v1/secrets/deployments/web-db while web refers to it',
    fixed: 'DELETE /api/v1/secrets/deployments/web-db once nothing refers to it',
  },
});
