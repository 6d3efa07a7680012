/**
 * The filters, one file each.
 *
 * @module
 */
import type { Filter } from '../filter.js';
import { antiAffinity } from './anti-affinity.js';
import { controlPlane } from './control-plane.js';
import { labelConstraint } from './label-constraint.js';
import { namedNode } from './named-node.js';
import { port } from './port.js';
import { quota } from './quota.js';
import { ready } from './ready.js';
import { residency } from './residency.js';
import { resources } from './resources.js';
import { tenant } from './tenant.js';

/** Filters that look at what a node is. Their answer holds until the node itself changes. */
export const nodeFilters: readonly Filter[] = [tenant, ready, controlPlane, namedNode, residency, labelConstraint];

/** Filters that look at what is on a node and around it. */
export const loadFilters: readonly Filter[] = [antiAffinity, port, resources, quota];

/** Every filter there is. The order shows only in how reasons are listed. */
export const filters: readonly Filter[] = [...nodeFilters, ...loadFilters];
