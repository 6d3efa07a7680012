/**
 * The reference pages of the codes, rendered from the catalogue.
 *
 * No page is written by hand: what a row of `crds/rejections` says is what a page shows, for a person as HTML and for
 * a program as data. Pages carry their own style, no script, and a policy under which nothing else may load.
 *
 *     renderCodePage('replicas_negative')  // '<!doctype html>…', or undefined for a code that is none
 *     readCodeView('replicas_negative')    // { code, section, status, expected, why, remedy, example, fixed }
 *
 * Choosing between the two by `Accept`, and serving them, is the API's.
 *
 * @module
 */
export type { CodeView } from './code-pages.js';
export { renderCodeIndexPage, listCodeViews, renderCodePage, readCodeView } from './code-pages.js';
export { PAGE_POLICY } from './html.js';
