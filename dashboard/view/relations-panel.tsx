import { useComputed } from '@preact/signals';

import type { OpenSession } from '../data/session.js';
import { BOX, drawRelations, type RelatedEdge, type RelatedNode } from '../model/relations.js';
import { showControls } from '../model/text.js';
import { Panel } from './parts.js';

const LONGEST = 24;

/** What the deployment needs and what needs it. Left out where it is alone. */
export function RelationsPanel({ session, name }: { readonly session: OpenSession; readonly name: string }) {
  const drawn = useComputed(() => drawRelations(name, session.deployments.value.items));
  const { nodes, edges, width, height, more } = drawn.value;
  if (nodes.length < 2) return null;
  return (
    <Panel title="What it needs, and what needs it">
      <div class="scroll">
        <svg
          class="relations"
          width={width + 2}
          height={height + 2}
          viewBox={`-1 -1 ${width + 2} ${height + 2}`}
          role="group"
          aria-label={edges.map(({ from, to, label }) => `${to.label} needs ${from.label}: ${label}`).join('; ')}
        >
          {edges.map(edge => (
            <Arrow key={`${edge.from.key} ${edge.to.key}`} edge={edge} />
          ))}
          {nodes.map(node => (
            <Box key={node.key} node={node} isSelf={node.key === `d ${name}`} />
          ))}
        </svg>
      </div>
      {more > 0 && <p class="soft">And {more} more.</p>}
    </Panel>
  );
}

function Arrow({ edge: { from, to } }: { readonly edge: RelatedEdge }) {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x - 6, to.y + BOX.height / 2];
  const bend = Math.max(30, Math.abs(x2 - x1) / 2);
  return (
    <g class="arrow-line" aria-hidden="true">
      <path d={`M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} />
      <path d={`M${x2 - 6} ${y2 - 5} L${x2} ${y2} L${x2 - 6} ${y2 + 5}`} />
    </g>
  );
}

function Box({ node, isSelf }: { readonly node: RelatedNode; readonly isSelf: boolean }) {
  const { label, note, tone, href, x, y } = node;
  const text = showControls(label);
  const drawn = (
    <>
      <title>{text}</title>
      <rect class={`box ${tone} ${isSelf ? 'self' : ''}`} x={x} y={y} width={BOX.width} height={BOX.height} rx="6" />
      <text x={x + 10} y={y + 18}>
        {text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text}
      </text>
      <text class="box-note" x={x + 10} y={y + 35}>
        {note}
      </text>
    </>
  );
  return href === undefined ? <g>{drawn}</g> : <a href={href}>{drawn}</a>;
}
