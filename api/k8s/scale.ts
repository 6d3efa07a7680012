import { rejectRequest, RequestRejection } from '../http/reply.js';
import type { ApiCall, RouteResult } from '../http/route.js';
import type { Subresource } from './discovery.js';
import { GROUP, type KubernetesObject } from './objects.js';
import { isFields } from '../http/body.js';
import { applyMergePatch } from './patch.js';
import { findRendered, replyObject, type ReadTarget } from './read.js';
import type { KubernetesBody } from './request.js';
import { toStatusSubject } from './served.js';
import { ObjectRejection } from './status.js';
import type { OwnWriteEnv } from './own-writes.js';
import { changeObject } from './write.js';

/** The number of replicas of a deployment, as `kubectl scale` reads and writes it. */
export const scaleOfDeployments: Subresource = {
  plural: 'deployments',
  name: 'scale',
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  verbs: ['get', 'patch', 'update'],
};

export async function getScale(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const name = call.params['name']!;
  const rendered = await findRendered(env, target, name);
  if (rendered) return replyObject(200, toScale(rendered.object));
  return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), toStatusSubject(target.served, name));
}

/** Changes the number of replicas, judged as every change of a deployment is. */
export async function changeScale(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { type, content } = call.document as KubernetesBody;
  const isWhole = call.request.method === 'PUT';
  if (type !== (isWhole ? 'application/json' : 'application/merge-patch+json')) {
    return rejectRequest('media_type_unsupported', 'Content-Type', type);
  }
  const outcome = await changeObject(env, call, target, object => {
    const before = toScale(object as KubernetesObject);
    const after = isWhole ? content : applyMergePatch(before, content);
    const { spec, metadata } = isFields(after) ? after : {};
    const replicas = isFields(spec) ? spec['replicas'] : undefined;
    const seen =
      isFields(metadata) && typeof metadata['resourceVersion'] === 'string' ? metadata['resourceVersion'] : '';
    return applyMergePatch(object, {
      ...(seen !== '' && { metadata: { resourceVersion: seen } }),
      // Kubernetes leaves out a number that is 0.
      spec: { replicas: replicas ?? 0 },
    });
  });
  if (outcome instanceof RequestRejection || !('body' in outcome)) return outcome;
  const written = JSON.parse((outcome.body as Buffer).toString()) as KubernetesObject;
  return replyObject(200, toScale(written), outcome.headers);
}

function toScale({ metadata, spec, status }: KubernetesObject) {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: (spec as { readonly replicas: number }).replicas },
    status: {
      replicas: (status as { readonly replicas?: number } | undefined)?.replicas ?? 0,
      selector: `${GROUP}/deployment=${name}`,
    },
  };
}
