/**
 * The descriptor of a kind: all that is true of a kind, in one object.
 *
 * A kind has its descriptor in `crds/<kind>/kind.ts`, its columns in `columns.ts`, and `crds/kinds` lists all of them. Keys,
 * request bodies, answers, JSON Schemas, custom resource definitions, quotas, event types, the list, get and watch routes of
 * the API, what the command line lists, describes, applies, deletes and completes, the places and lists of the dashboard,
 * and docs/KINDS.md are derived from it.
 *
 *     export const gadgetKind = defineKind({ kind: 'Gadget', singular: 'gadget', plural: 'gadgets', … });
 *
 * Admission of documents, and what loops do with a kind, is in the kind's own folders.
 *
 * @module
 */
import type { TObject, TSchema } from 'typebox';

import type { RejectionCode } from '../rejections/index.js';
import type { FieldTable } from '../rule/index.js';

/** What can be done with a kind over the API. `watch` is the stream of its list. */
export type KindOperation = 'list' | 'watch' | 'get' | 'create' | 'update' | 'delete';

/** A line of the route table, as far as a descriptor decides it. */
export interface OperationRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}

/** What an endpoint answers when all is well. */
export interface RouteAnswer {
  readonly status: 200 | 201 | 202 | 204;
  /** None for text and streams. */
  readonly component?: string;
}

/** What the API document says of a route, beside what the route table says. */
export interface RouteNotes {
  readonly summary: string;
  /** Names of headers it reads, beside `Authorization`. */
  readonly headers?: readonly string[];
  /** The component of the body. */
  readonly body?: string;
  /** What it answers when all is well. */
  readonly answer: RouteAnswer;
  /** What else it may answer when all is well. */
  readonly otherwise?: readonly RouteAnswer[];
  /** What it may refuse with, beside what every route may. */
  readonly codes?: readonly RejectionCode[];
}

/** A route below the path of a kind that is none of the common operations: `POST /{id}/drain`. */
export type KindAction = `${OperationRoute['method']} /${string}`;

/** One column of a table of objects. `View` is the object as the API shows it. */
export interface Column<View> {
  readonly title: string;
  readonly value: (view: View) => string;
  /** Shown with `-o wide` only, and in every table for objects that need attention. */
  readonly isWide?: true;
  /** `age`: the value is a time, shown as the time since then. `state`: a state, which may be coloured. */
  readonly format?: 'age' | 'state';
  /** Whether the object needs attention: the cell is marked, and shown without `-o wide` too. */
  readonly isWarning?: (view: View) => boolean;
}

/** Something of which a tenant may have so much. */
export interface Quota {
  /** The limit of a tenant when neither configuration nor platform sets one; none when absent. */
  readonly default?: number;
  /** `cores`: thousandths of a core, written as `500m`. `bytes`: written as `64Mi`. */
  readonly unit: 'count' | 'cores' | 'bytes';
  /** The records of the kind are counted; otherwise the count is kept where the resource is used. */
  readonly countsRecords?: true;
}

/** What a custom resource definition says of a kind beside its schema. */
export interface KubernetesNames {
  readonly shortNames: readonly string[];
  /** Fields that `kubectl get` prints between name and age. */
  readonly printed: readonly {
    readonly name: string;
    readonly type: 'string' | 'integer';
    readonly jsonPath: string;
  }[];
  /** Its `spec.replicas` can be scaled. */
  readonly isScaled?: true;
}

/** All that is true of a kind. */
export interface Kind {
  /** As documents and events name it: `Deployment`. */
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  /** Other names that the command line accepts. */
  readonly shortNames: readonly string[];
  /** One sentence for the reference. */
  readonly description: string;
  /** Whether a tenant owns its objects, or the platform does. */
  readonly scope: 'tenant' | 'platform';

  /** Where its objects are stored; absent for what has no record of its own. Ends in `/`. */
  readonly range?: string;
  /** The segments of a key after the range. */
  readonly keyParts?: readonly string[];
  /** Where the status of an object is stored, under the same segments, written by another process. */
  readonly statusRange?: string;
  readonly quotas?: Readonly<Record<string, Quota>>;

  /** Every field of its document: schema, rules, default, completion, and what a change of it replaces. */
  readonly fields?: FieldTable<never, never>;
  /** The document that a client writes: the schema of its fields. Answers show it with metadata and status. */
  readonly body?: TObject;
  /** The status in answers, by the name of its component. */
  readonly status?: Readonly<Record<string, TSchema>>;
  /** What answers show, where that is not the document with metadata. */
  readonly answer?: TSchema;
  /** Bodies of other requests, by the name of their component. */
  readonly requests?: Readonly<Record<string, TObject>>;
  /** Those of them that are published as a JSON Schema, because people write them in files. */
  readonly published?: readonly string[];
  /** Set for a kind that can also be driven with kubectl. */
  readonly kubernetes?: KubernetesNames;

  /** The types of events that are about objects of this kind. */
  readonly events: readonly string[];

  /** `/api/v1/deployments`: where objects are listed and created. */
  readonly path?: string;
  /** The parameters that follow the path of one object; `{name}` when absent. */
  readonly item?: string;
  readonly operations: readonly KindOperation[];
  /** Who may delete its objects, where those who may change deployments may not. */
  readonly deletedBy?: 'admin';
  /** Deletion is a request: the object stays, with `metadata.deletedAt`, until what it stands for is gone. */
  readonly isFinalized?: true;
  /** The singular names of the kinds that its objects refer to: an object in use is not deleted before its users. */
  readonly uses?: readonly string[];
  /**
   * What the API document says of its routes: of an operation what differs from other kinds, such as the codes of a
   * write, and all about its other actions.
   */
  readonly routes?: Readonly<Partial<Record<KindOperation, Partial<RouteNotes>>> & Record<KindAction, RouteNotes>>;
  /** What a client who names an object that does not exist is refused with. */
  readonly notFound?: Extract<RejectionCode, `${'resource' | 'deployment' | 'volume_snapshot'}_not_found`>;
  /** The columns of the table of objects; a kind without columns is not listed by the command line. */
  readonly columns: readonly Column<never>[];
  /** What the command line names an object by. */
  readonly nameField: string;
}

/** Declares a kind, keeping its names known to the compiler. */
export function defineKind<const Given extends Kind>(kind: Given): Given {
  return kind;
}

/** Declares the columns of a kind's table for the form in which the API shows its objects. */
export function defineColumns<View>(columns: readonly Column<View>[]): readonly Column<never>[] {
  return columns;
}

/** The plural of a kind, or the title of a column, as a title for people: `deployments` as `Deployments`, `LAST SEEN` as `Last seen`. */
export function toTitle(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

const METHODS = { list: 'GET', watch: 'GET', get: 'GET', create: 'POST', update: 'PUT', delete: 'DELETE' } as const;

/** The route of an operation: `PUT /api/v1/deployments/{name}`. A watch is requested at the route of the list. */
export function getOperationRoute({ path = '', item = '{name}' }: Kind, operation: KindOperation): OperationRoute {
  const isAboutAll = operation === 'list' || operation === 'watch' || operation === 'create';
  return { method: METHODS[operation], path: isAboutAll ? path : `${path}/${item}` };
}

/** The fields of an object that can be changed once it exists: of most kinds all, of others those that a PATCH must name. */
export function listChangedFields({ operations, routes, requests, item = '{name}' }: Kind): 'all' | readonly string[] {
  if (operations.includes('update')) return 'all';
  return (requests?.[routes?.[`PATCH /${item}`]?.body ?? '']?.required ?? []) as readonly string[];
}
