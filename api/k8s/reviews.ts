import type { KindOperation } from '../../crds/kind/index.js';
import { checkAccess } from '../access/authorise.js';
import { rejectRequest, type RequestRejection, type WholeReply } from '../http/reply.js';
import type { ApiCall, Caller, Route } from '../http/route.js';
import type { Served } from './discovery.js';
import { isFields } from '../http/body.js';
import { readEnvelope } from './protobuf.js';
import { replyObject } from './read.js';
import type { KubernetesBody } from './request.js';
import type { ServedResource, Verb } from './served.js';

/** What a review asks for. */
export interface ReviewedAction {
  readonly namespace: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

const NAMES = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'] as const;

/** The action that a SelfSubjectAccessReview names; undefined when it names none of a resource. */
export function readReviewedAction({ document }: ApiCall): ReviewedAction | undefined | RequestRejection {
  const { content } = document as KubernetesBody;
  if (Buffer.isBuffer(content)) {
    const find = readEnvelope(content);
    if (!find) return rejectRequest('request_malformed', 'body', '', { problem: 'it is no message of Kubernetes' });
    const read = (name: (typeof NAMES)[number]) => find(2, 1, NAMES.indexOf(name) + 1)?.toString('utf8') ?? '';
    return find(2, 1) && toAction(read);
  }
  const spec = isFields(content) ? content['spec'] : undefined;
  const attributes = isFields(spec) ? spec['resourceAttributes'] : undefined;
  if (!isFields(attributes)) return undefined;
  return toAction(name => (typeof attributes[name] === 'string' ? attributes[name] : ''));
}

function toAction(read: (name: (typeof NAMES)[number]) => string): ReviewedAction {
  return {
    namespace: read('namespace'),
    verb: read('verb'),
    group: read('group'),
    resource: read('resource'),
    subresource: read('subresource'),
  };
}

/** What the rights of a caller are looked up with. */
export interface RightsEnv {
  readonly served: Served;
  readonly findRoute: (served: ServedResource, operation: KindOperation) => Route;
}

const OPERATIONS: Readonly<Record<Verb, KindOperation>> = {
  get: 'list',
  list: 'list',
  watch: 'list',
  create: 'create',
  update: 'update',
  patch: 'update',
  delete: 'delete',
};

/** Whether a caller may do something: by the rights of the route of our own API that does it. */
export function isAllowed({ served, findRoute }: RightsEnv, caller: Caller, action: ReviewedAction): boolean {
  const { namespace, verb, group, resource, subresource } = action;
  const found = served.resources.find(each => each.group === group && each.plural === resource);
  const part = served.subresources.find(each => each.plural === resource && each.name === subresource);
  if (!found || (subresource !== '' && !part)) return false;
  const verbs: readonly string[] = part?.verbs ?? found.verbs;
  if (!verbs.includes(verb)) return false;
  if (!found.isNamespaced) return true;
  const isOwn = caller.kind === 'admin' ? namespace !== '' : namespace === '' || namespace === caller.tenant;
  return isOwn && checkAccess(caller, findRoute(found, OPERATIONS[verb as Verb]).access) === undefined;
}

/** Everything that a caller may do in a namespace. */
export function listRules(env: RightsEnv, caller: Caller, namespace: string): readonly object[] {
  const { resources, subresources } = env.served;
  const rule = (group: string, resource: string, subresource: string, verbs: readonly string[]) => {
    const allowed = verbs.filter(verb => isAllowed(env, caller, { namespace, verb, group, resource, subresource }));
    const name = subresource === '' ? resource : `${resource}/${subresource}`;
    return allowed.length === 0 ? [] : [{ verbs: allowed, apiGroups: [group], resources: [name] }];
  };
  return resources.flatMap(({ group, plural, verbs }) => [
    ...rule(group, plural, '', verbs),
    ...subresources.filter(each => each.plural === plural).flatMap(each => rule(group, plural, each.name, each.verbs)),
  ]);
}

/** The namespace that a SelfSubjectRulesReview names. */
export function readReviewedNamespace({ document }: ApiCall): string {
  const { content } = document as KubernetesBody;
  if (Buffer.isBuffer(content)) return readEnvelope(content)?.(2, 1)?.toString('utf8') ?? '';
  const spec = isFields(content) ? content['spec'] : undefined;
  return isFields(spec) && typeof spec['namespace'] === 'string' ? spec['namespace'] : '';
}

/** The answer to a review. */
export function replyReview(group: string, kind: string, status: object): WholeReply {
  const metadata = { creationTimestamp: null };
  return replyObject(201, { kind, apiVersion: `${group}/v1`, metadata, spec: {}, status });
}
