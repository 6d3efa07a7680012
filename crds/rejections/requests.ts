import { formatCount } from '../grammar/index.js';
import { defineEntries } from './entry.js';

/** Ours: what any API refuses before it reads a document. */
export const requestRejections = defineEntries('ours', {
  request_malformed: {
    status: 400,
    expected: ({ problem, form = 'one JSON document in UTF-8' }: { problem: string; form?: string }) =>
      `${form} (${problem})`,
    sample: { problem: 'a key appears twice in one object' },
    why: 'The request is not well-formed, so two readers could understand it differently.',
    remedy: 'Send well-formed HTTP, and in it well-formed JSON: no duplicate keys, no trailing text, no deep nesting.',
    echo: 'never',
    example: 'POST /api/v1/deployments with {"name": "web", "name": "shop"}',
    fixed: 'POST /api/v1/deployments with {"name": "web"}',
  },

  request_too_large: {
    status: 413,
    expected: ({ max }: { max: number }) => `a body of at most ${max} bytes`,
    sample: { max: 1048576 },
    why: 'The size of a request is limited, because every request is held in memory.',
    remedy: 'Send less in one request.',
    example: 'POST /api/v1/deployments with a body of 5 MiB',
    fixed: 'POST /api/v1/deployments with a body of 5 KiB',
  },

  document_too_large: {
    expected: ({ max }: { max: number }) => `a document of at most ${max} bytes as it is stored`,
    sample: { max: 262144 },
    why: 'A document and all that is made from it must fit into one write to the database.',
    remedy: 'Shorten the field that is named: keep large configuration in the image or in a volume.',
    example: 'POST /api/v1/deployments with 500 KiB of environment',
    fixed: 'POST /api/v1/deployments with 50 KiB of environment',
  },

  request_headers_too_large: {
    status: 431,
    expected: ({ max }: { max: number }) => `headers of at most ${max} bytes`,
    sample: { max: 16384 },
    why: 'The size of the headers is limited, because they are held in memory before the caller is known.',
    remedy: 'Send fewer or shorter headers, and a shorter query.',
    example: 'GET /api/v1/deployments with 1 MiB of cookies',
    fixed: 'GET /api/v1/deployments without cookies',
  },

  request_stalled: {
    status: 408,
    expected: ({ seconds }: { seconds: number }) => `a complete request within ${seconds} seconds`,
    sample: { seconds: 30 },
    why: 'The request was not complete in time, and idle connections keep other callers out.',
    remedy: 'Send the request again over a connection that does not stall.',
    example: 'POST /api/v1/deployments whose body never ends',
    fixed: 'POST /api/v1/deployments with the whole body',
  },

  expectation_unsupported: {
    status: 417,
    expected: 'no Expect header, or Expect: 100-continue',
    why: 'The server does not support this expectation, so it does not carry the request out.',
    remedy: 'Leave the Expect header out.',
    example: 'POST /api/v1/deployments with Expect: a-receipt',
    fixed: 'POST /api/v1/deployments without Expect',
  },

  media_type_unsupported: {
    status: 415,
    expected: 'Content-Type: application/json, in UTF-8 and without Content-Encoding',
    why: 'Request bodies are read as JSON in UTF-8 only.',
    remedy: 'Set Content-Type to application/json and send JSON.',
    example: 'POST /api/v1/deployments with Content-Type: text/xml',
    fixed: 'POST /api/v1/deployments with Content-Type: application/json',
  },

  endpoint_not_found: {
    status: 404,
    expected: 'a path of this API',
    why: 'There is no such endpoint.',
    remedy: 'Correct the path.',
    example: 'GET /api/v1/deployment',
    fixed: 'GET /api/v1/deployments',
  },

  method_not_allowed: {
    status: 405,
    expected: ({ methods }: { methods: readonly string[] }) => methods.join(', '),
    sample: { methods: ['GET', 'POST'] },
    why: 'The endpoint exists, but not for this method.',
    remedy: 'Use one of the methods that the Allow header lists.',
    example: 'PATCH /api/v1/deployments/web',
    fixed: 'PUT /api/v1/deployments/web',
  },

  exec_not_offered: {
    status: 405,
    expected: 'logs, which are read with kubectl logs or moor logs',
    why: 'Nothing is run in a container, attached to it or forwarded into it from outside: no caller may change what a deployment declares.',
    remedy: 'Read the log, or run the command as a job with the same image.',
    example: 'kubectl exec web-0 -- ls',
    fixed: 'kubectl logs web-0',
  },

  annotation_holds_credential: {
    expected: 'annotations without credentials; kubectl apply --server-side keeps no copy of the file',
    why: 'Annotations are stored and shown as they are, and credentials live in the secrets store only.',
    remedy: 'Apply the file with --server-side, or write the secret first and leave its values out of the file.',
    echo: 'never',
    example: 'kubectl apply -f web.yaml, which has secrets[0].values',
    fixed: 'kubectl apply --server-side -f web.yaml',
  },

  field_manager_conflict: {
    status: 409,
    expected: ({ manager }: { manager: string }) =>
      `the value that ${manager} has set, or force=true, which takes the field over`,
    sample: { manager: 'mooring-api' },
    why: 'Another manager has set the field, and would not know that it was changed.',
    remedy:
      'Leave the field out of the file, make it equal to what is stored, or take it over with kubectl apply --server-side --force-conflicts.',
    echo: 'never',
    example: 'kubectl apply --server-side -f web.yaml, after moor scale web 3',
    fixed: 'kubectl apply --server-side --force-conflicts -f web.yaml',
  },

  query_parameter_invalid: {
    status: 400,
    expected: ({ wanted }: { wanted: string }) => wanted,
    sample: { wanted: 'an integer from 1 to 500' },
    why: 'The parameter is known, but its value is not one it can have.',
    remedy: 'Correct the value.',
    example: 'GET /api/v1/deployments?limit=0',
    fixed: 'GET /api/v1/deployments?limit=100',
  },

  resource_not_found: {
    status: 404,
    expected: 'the name or id of an object that exists in this tenant',
    why: 'No object of that name exists, or this caller may not see it.',
    remedy: 'Correct the name; the list of the same endpoint shows every object.',
    example: 'GET /api/v1/nodes/absent',
    fixed: 'GET /api/v1/nodes/machine-1',
  },

  deployment_already_exists: {
    status: 409,
    expected: 'a name that the tenant does not use yet',
    why: 'POST creates; an existing deployment is changed with PUT.',
    remedy: 'Change the existing one with PUT, or choose another name.',
    example: 'POST /api/v1/deployments, twice with the same name',
    fixed: 'PUT /api/v1/deployments/web',
  },

  deployment_being_deleted: {
    status: 409,
    expected: 'the same request, once the deployment is gone',
    why: 'Its containers are still being removed, and its name is free only after the last of them.',
    remedy: 'Wait until GET answers deployment_not_found, then create it again.',
    example: 'PUT /api/v1/deployments/web, right after DELETE',
    fixed: 'POST /api/v1/deployments, once web is gone',
  },

  revision_not_found: {
    status: ({ in: place }: { in: 'body' | 'path'; kept: string }) => (place === 'body' ? 422 : 404),
    expected: ({ kept }: { in: 'body' | 'path'; kept: string }) => `a revision that is kept: ${kept}`,
    sample: { in: 'body', kept: '3 to 52' },
    why: 'The deployment has never had that revision, or it is older than those that are kept.',
    remedy: 'Look at those that are kept with moor history, and name one of them.',
    example: 'POST /api/v1/archives/deployments/web/rollback with {"revision": 99}',
    fixed: 'POST /api/v1/archives/deployments/web/rollback with {"revision": 3}',
  },

  canary_not_under_way: {
    status: 409,
    expected: ({ because }: { because: string }) => `a deployment with a canary under way: ${because}`,
    sample: { because: 'nothing is rolled out' },
    why: 'An order is for the canary that was seen; without one it would be for whatever comes next.',
    remedy: 'Look at "moor rollout status": status.canary is there while a canary waits for an order.',
    example: 'POST /api/v1/deployments/web/canary with {"action": "promote"} after it was promoted',
    fixed: 'POST /api/v1/deployments/web/canary with {"action": "promote"} while status.canary is there',
  },

  backup_checksum_mismatch: {
    expected: 'the checksum of what the backup holds',
    why: 'The backup is not what was backed up: a part of it was changed or lost.',
    remedy: 'Export or copy it again, or use another backup.',
    example: 'POST /api/v1/backups/import with a file in which a replica was edited',
    fixed: 'POST /api/v1/backups/import with the file as it was exported',
  },

  backup_already_exists: {
    status: 409,
    expected: 'a backup whose id the tenant does not have, or the same backup again',
    why: 'The tenant has another backup of this id.',
    remedy: 'Compare the two, and delete the one that is not needed.',
    example: 'POST /api/v1/backups/import of two different files with one id',
    fixed: 'POST /api/v1/backups/import of a file, twice',
  },

  logs_replica_not_placed: {
    status: 409,
    expected: 'the number of a replica that has a node',
    why: 'The replica has no node yet, so it has no container that could print anything, and no log of an earlier one is kept.',
    remedy: 'See why with moor explain deployment, and ask again when it is placed.',
    example: 'GET /api/v1/deployments/web/logs while no node accepts web',
    fixed: 'GET /api/v1/deployments/web/logs once web is placed',
  },

  logs_no_container: {
    status: 409,
    expected: 'the number of a replica that has a container',
    why: 'The node has not created the container of the replica yet, and has kept no log of an earlier one.',
    remedy: 'See what it waits for with moor describe deployment, and ask again when it is created.',
    example: 'GET /api/v1/deployments/web/logs while the image of web is pulled',
    fixed: 'GET /api/v1/deployments/web/logs once the container is created',
  },

  logs_not_kept: {
    status: 404,
    expected: 'a replica of which the log of a removed container is kept',
    why: 'No reachable node has the log of a removed container of this replica: there was none, or its node keeps newer ones.',
    remedy:
      'Read the current container without previous. A deployment that is stopped has none: start it with "moor scale".',
    example: 'GET /api/v1/deployments/web/logs?previous=true of a deployment that was never changed',
    fixed: 'GET /api/v1/deployments/web/logs',
  },

  tenant_in_use: {
    status: 409,
    expected: ({ kinds }: { kinds: string }) => `a tenant without ${kinds}`,
    sample: { kinds: 'deployments, volumes, nodes, jobs, networks, secrets, backups, claims and tokens' },
    why: 'A tenant is deleted only when nothing of it is left, because what is left would have no owner.',
    remedy: 'Delete what is named first, or let moor tenants delete --cascade do it.',
    example: 'DELETE /api/v1/tenants/{tenant} while it has a deployment',
    fixed: 'DELETE /api/v1/tenants/{tenant} once nothing of it is left',
  },

  tenant_of_platform: {
    status: 409,
    expected: 'a tenant other than that of the platform',
    why: 'The tenant of the platform owns the node that the control plane runs on, and is made again at each start.',
    remedy: 'Delete another tenant.',
    example: 'DELETE /api/v1/tenants/{tenant} with the id of the platform’s tenant',
    fixed: 'DELETE /api/v1/tenants/{tenant} with the id of another',
  },

  revision_mismatch: {
    status: 412,
    expected: ({ current }: { current: string }) => `the current revision, ${current}`,
    sample: { current: '4711' },
    why: 'The object has changed since it was read, and this request would overwrite that change.',
    remedy: 'Read the object again, repeat the change on it, and send it with the new revision.',
    example: 'PUT /api/v1/deployments/web with If-Match: "4705"',
    fixed: 'PUT /api/v1/deployments/web with If-Match: "4711"',
  },

  watch_expired: {
    status: 410,
    expected: 'a cursor whose later changes are still kept',
    why: 'Changes after this cursor are no longer held, so the stream would have a gap.',
    remedy: 'List again and watch from the revision of that list.',
    example: 'GET /api/v1/deployments?watch=true&after=1',
    fixed: 'GET /api/v1/deployments?watch=true',
  },

  rate_limited: {
    status: 429,
    expected: ({ perSecond }: { perSecond: number }) =>
      perSecond < 1
        ? `at most ${formatCount(Math.round(perSecond * 60), 'request')} a minute`
        : `at most ${formatCount(perSecond, 'request')} a second`,
    sample: { perSecond: 200 },
    why: 'The tenant, or on open endpoints the address, sends more requests a second than its limit allows.',
    remedy: 'Wait as long as Retry-After says, and prefer a watch to polling.',
    example: 'GET /api/v1/deployments, 1000 times a second',
    fixed: 'GET /api/v1/deployments?watch=true, once',
  },

  concurrency_limited: {
    status: 429,
    expected: ({ limit, what, scope }: { limit: number; what: 'request' | 'stream' | 'body byte'; scope: string }) =>
      `at most ${formatCount(limit, what)} of one ${scope} at the same time`,
    sample: { limit: 100, what: 'stream', scope: 'token' },
    why: 'So many requests, streams or bytes of bodies of this caller are under way already, and the server keeps room for others.',
    remedy: 'Close watches and logs that are not read, send fewer requests at once, and wait as Retry-After says.',
    example: 'GET /api/v1/deployments?watch=true, opened 1000 times',
    fixed: 'GET /api/v1/deployments?watch=true, opened once and shared',
  },
});
