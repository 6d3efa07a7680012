/** Words that name a credential, alone or at the end of a longer word such as PGPASSWORD. */
const NAMING = /(?:passwords?|passwd|passphrases?|secrets?|token|apikeys?|privatekeys?|credentials?|accesskeys?)\d*$/;

/** Short words that name a credential as the last word of a name: DB_PASS, but not PASS_COUNT or FIRST_PASS_DONE. */
const SHORT = /^(?:pass|pwd)\d*$/;
/** Working directories. */
const DIRECTORIES = new Set(['pwd', 'old_pwd', 'oldpwd']);
/** Words that say that there is no credential: NO_PASSWORD. */
const NEGATIONS = new Set(['no', 'without', 'empty']);

/** Last words of a name that speaks about a credential without holding one. */
const ABOUT = new Set(
  (
    'file path dir name ttl url uri lifetime expiry expires expiration timeout duration length min max size count limit ' +
    'enabled disabled required optional policy header prefix issuer audience type algorithm alg format endpoint rotation ' +
    'interval retries attempts strength complexity rounds cost mode version provider field param claim scheme ' +
    'age period frequency days hours minutes seconds millis ms'
  ).split(' '),
);

const SWITCH = /^(?:true|false|yes|no|on|off|enabled|disabled|none|null)$/i;
const NAME_MAX = 256;

/** Whether a variable of this name and value holds a credential in the clear. */
export function isCredential(name: string, value: string): boolean {
  return (namesCredential(name) && value !== '' && !SWITCH.test(value)) || looksLikeCredential(value);
}

/** No name without one of these ends in a word that names a credential: most names need not be taken apart. */
const SUSPECT = /pass|pwd|secret|token|key|credential/i;

function namesCredential(name: string): boolean {
  if (!SUSPECT.test(name)) return false;
  const words = splitWords(name.slice(0, NAME_MAX));
  const last = words.at(-1) ?? '';
  if (ABOUT.has(last) || words.some(word => NEGATIONS.has(word))) return false;
  if (SHORT.test(last) && !DIRECTORIES.has(words.join('_'))) return true;
  return [...words, ...splitPlainWords(name.slice(0, NAME_MAX))].some(
    (word, position, all) => NAMING.test(word) || NAMING.test(`${all[position - 1] ?? ''}${word}`),
  );
}

/** The same without regard to capitals, which `pAsSwOrD` has at random. */
function splitPlainWords(name: string): string[] {
  return name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

/** `dbApi_KEY` → `db`, `api`, `key`. */
function splitWords(name: string): string[] {
  return splitPlainWords(name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2'));
}

/** Tokens whose issuers gave them a form of their own, so that they can be found. */
const ISSUED = new RegExp(
  `^(?:${[
    'gh[pousr]_[A-Za-z0-9]{20,}',
    'github_pat_[A-Za-z0-9_]{20,}',
    'gl(?:pat|ptt|dt|rt|soat)-[A-Za-z0-9_-]{16,}',
    'xox[abeoprs]-[A-Za-z0-9-]{12,}',
    '(?:sk|rk|pk)_live_[A-Za-z0-9]{10,}',
    'whsec_[A-Za-z0-9+/=]{16,}',
    'sk-[A-Za-z0-9_-]{20,}',
    '(?:AKIA|ASIA)[A-Z0-9]{16}',
    'AIza[A-Za-z0-9_-]{35}',
    'ya29\\.[A-Za-z0-9_-]{20,}',
    'SG\\.[A-Za-z0-9_-]{16,}\\.[A-Za-z0-9_-]{16,}',
    'npm_[A-Za-z0-9]{30,}',
    'pypi-[A-Za-z0-9_-]{30,}',
    'hv[sbr]\\.[A-Za-z0-9_-]{20,}',
    'do[opr]_v1_[a-f0-9]{40,}',
    'dckr_pat_[A-Za-z0-9_-]{20,}',
    'hf_[A-Za-z0-9]{30,}',
    'm(?:tk|ad|nd|jn)_[A-Za-z0-9]{8,}_[A-Za-z0-9]{30,}',
    // A JSON web token: two objects in base64url, and a signature.
    'eyJ[A-Za-z0-9_-]{8,}\\.eyJ[A-Za-z0-9_-]{4,}\\.[A-Za-z0-9_-]*',
  ].join('|')})$`,
);

/** None of them is shorter. */
const ISSUED_MIN = 16;

const PRIVATE_KEY = /-----BEGIN (?:[A-Z]{2,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;

/**
 * `scheme://user:password@host`, anywhere in the value. What ends the part before the host also ends the search, so that
 * each character is read a fixed number of times.
 */
const PASSWORD_IN_URL = /:\/\/[^:/?#\s"'`,<>]{0,2048}:[^/?#\s"'`,<>]{1,2048}@/;

/** `Server=db;User Id=sa;Password=…`, and `host=db password=…`. A placeholder or a variable in its place is no password. */
const PASSWORD_IN_DSN = /(?:(?:^|[;\s?&])password|;\s{0,8}pwd)\s{0,8}=\s{0,8}[^;\s&*$<{]/i;

function looksLikeCredential(value: string): boolean {
  if (value.length < 8) return false;
  if (PRIVATE_KEY.test(value) || PASSWORD_IN_URL.test(value)) return true;
  if (value.includes('=') && PASSWORD_IN_DSN.test(value)) return true;
  return value.length >= ISSUED_MIN && holdsIssued(value);
}

function holdsIssued(value: string): boolean {
  return value.split(/[\s"'`,;=()<>|&]+/).some(word => word.length >= ISSUED_MIN && ISSUED.test(word));
}
