import type { Deployment } from '../../../crds/deployment/index.js';
import { findPlaceholders, parseTemplate } from '../../../crds/grammar/index.js';
import type { Fact } from '../print/sections.js';

/** How a deployment is checked, stopped and rolled out, as far as it says so. */
export function listLifeFacts({ healthCheck, stopGracePeriod, preStop, rollout }: Deployment): readonly Fact[] {
  const { interval, timeout, retries, startPeriod } = healthCheck ?? {};
  const timing = [
    interval && `every ${interval}`,
    timeout && `within ${timeout}`,
    retries !== undefined && `unhealthy after ${retries} failures`,
    startPeriod && `from ${startPeriod} on`,
  ].filter(Boolean);
  const details = timing.length === 0 ? '' : ` (${timing.join(', ')})`;
  const { maxSurge, maxUnavailable, progressDeadline, autoRollback, canary } = rollout ?? {};
  const hold = canary?.hold === undefined ? 'until it is promoted' : `for ${canary.hold}`;
  const bounds = [
    maxSurge !== undefined && `${maxSurge} more at a time`,
    maxUnavailable !== undefined && `${maxUnavailable} fewer`,
    progressDeadline && `fails without progress for ${progressDeadline}`,
    autoRollback === false && 'is not rolled back',
    canary && `a canary of ${canary.replicas} ${hold}`,
  ].filter(Boolean);
  return [
    ['Health check', healthCheck && `${healthCheck.command.join(' ')}${details}`],
    ['Before a stop', preStop?.join(' ')],
    ['Time to stop', stopGracePeriod],
    ['Rolled out by', bounds.join(', ')],
  ];
}

/** What a deployment asks for beside what runs: its secrets by path and name of key, never by value, and where it may be. */
export function listPlacementFacts({
  secrets = [],
  composedSecrets = {},
  placement,
  dependsOn = [],
  networks = [],
  volumes = [],
}: Deployment): readonly Fact[] {
  const { constraints = [], residency, antiAffinity } = placement ?? {};
  return [
    ['Secrets', secrets.map(({ name, vault_path: path, anchor }) => `${name} from ${path} (${anchor})`).join(', ')],
    ['From secrets', Object.entries(composedSecrets).map(formatComposed).join(', ')],
    ['Networks', networks.join(', ')],
    ['Volumes', volumes.map(formatMount).join(', ')],
    ['Depends on', dependsOn.map(({ name, condition }) => `${name} (${condition})`).join(', ')],
    ['Constraints', constraints.map(formatConstraint).join('; ')],
    ['Residency', residency && formatResidency(residency)],
    ['Anti-affinity', antiAffinity && formatAntiAffinity(antiAffinity)],
  ];
}

/** `vol_… at /data (sub, read-only)` */
function formatMount({ volumeId, mountPath, subPath, readOnly }: NonNullable<Deployment['volumes']>[number]): string {
  const details = [subPath, readOnly ? 'read-only' : ''].filter(Boolean).join(', ');
  return `${volumeId} at ${mountPath}${details === '' ? '' : ` (${details})`}`;
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
