import type { Deployment } from '../../../crds/deployment/index.js';
import { findPlaceholders, parseTemplate } from '../../../crds/grammar/index.js';
import type { Fact } from '../print/sections.js';

/** What a deployment asks for beside what runs: its secrets by path and name of key, never by value, and where it may be. */
export function listPlacementFacts({
  secrets = [],
  composedSecrets = {},
  placement,
  dependsOn = [],
  networks = [],
}: Deployment): readonly Fact[] {
  const { constraints = [], residency, antiAffinity } = placement ?? {};
  return [
    ['Secrets', secrets.map(({ name, vault_path: path, anchor }) => `${name} from ${path} (${anchor})`).join(', ')],
    ['From secrets', Object.entries(composedSecrets).map(formatComposed).join(', ')],
    ['Networks', networks.join(', ')],
    ['Depends on', dependsOn.map(({ name, condition }) => `${name} (${condition})`).join(', ')],
    ['Constraints', constraints.map(formatConstraint).join('; ')],
    ['Residency', residency && formatResidency(residency)],
    ['Anti-affinity', antiAffinity && formatAntiAffinity(antiAffinity)],
  ];
}

/** `URL (web-db.user, web-db.password)`: which keys a template uses; the template itself is not shown. */
function formatComposed([name, template]: readonly [string, string]): string {
  const used = findPlaceholders(parseTemplate(template) ?? []).map(({ resource, key }) => `${resource}.${key}`);
  return `${name} (${[...new Set(used)].join(', ')})`;
}

type Placement = NonNullable<Deployment['placement']>;

function formatConstraint({ key, operator, values = [] }: NonNullable<Placement['constraints']>[number]): string {
  return [key, operator, values.join(', ')].filter(Boolean).join(' ');
}

function formatResidency({ country, region, blockedCountries = [] }: NonNullable<Placement['residency']>): string {
  const parts = [
    country && `country ${country}`,
    region && `region ${region}`,
    blockedCountries.length > 0 && `not in ${blockedCountries.join(', ')}`,
  ];
  return parts.filter(Boolean).join(', ');
}

function formatAntiAffinity({ self, deployments, topologyKey }: NonNullable<Placement['antiAffinity']>): string {
  return `apart from ${[...(self ? ['its own replicas'] : []), ...deployments].join(', ')}, by ${topologyKey}`;
}
