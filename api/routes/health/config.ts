import type { Settings } from '../../../pkg/config/index.js';
import { readProductVersion } from '../../../pkg/version/index.js';
import { replyJson } from '../../http/reply.js';
import { defineRoute, type Route } from '../../http/route.js';

/** What the settings of this server are read from. */
export interface ConfigEnv {
  readonly settings: Settings;
}

/** The settings that this server runs with, for administrators of the platform: they name files and addresses. */
export function createConfigRoutes({ settings }: ConfigEnv): readonly Route[] {
  const shown = Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, hideUserInfo(value)]));
  const handle = () => replyJson(200, { version: readProductVersion(), settings: shown });
  return [defineRoute({ admin: true }, 'GET', '/api/v1/config', handle, { tenant: 'none' })];
}

/** Settings hold no credential but one that an operator may have written into an address. */
function hideUserInfo(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideUserInfo);
  return typeof value === 'string' ? value.replace(/:\/\/[^/@]*@/g, '://…@') : value;
}
