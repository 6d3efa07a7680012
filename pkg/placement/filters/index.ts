/**
 * The filters, one file each.
 *
 * @module
 */
import type { Filter } from '../filter.js';
import { controlPlane } from './control-plane.js';
import { namedNode } from './named-node.js';
import { port } from './port.js';
import { ready } from './ready.js';
import { resources } from './resources.js';
import { tenant } from './tenant.js';

/** Every filter there is. The order shows only in how reasons are listed. */
export const filters: readonly Filter[] = [tenant, ready, controlPlane, namedNode, port, resources];
