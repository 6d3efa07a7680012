import type { OpenSession } from '../data/session.js';
import { listQuotas, type QuotasView } from '../model/quotas.js';
import { useReading } from './live-items.js';
import { Bar, Help, Panel } from './parts.js';

/** What the tenant may have, read again when deployments have changed or there is an event. */
function useQuotas(session: OpenSession) {
  return useReading<QuotasView>(
    session,
    '/api/v1/tenants/self/quotas',
    () => `${session.deployments.value.cursor} ${session.events.value.cursor}`,
  );
}

/** What a tenant may have, how much of it is used, and who has set it. */
export function Quotas({ session }: { readonly session: OpenSession }) {
  const quotas = useQuotas(session);
  const { id } = session.tenant;
  return (
    <>
      <h1>Quotas</h1>
      <p class="lead">What is reached stops nothing that exists; it refuses what would be more.</p>
      {!quotas.value && <p class="soft">Reading …</p>}
      {quotas.value && (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                {['Quota', 'Used', 'Limit', 'Share', 'Set by'].map(title => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {listQuotas(quotas.value).map(({ name, used, limit, setBy, percent }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>{used}</td>
                  <td>{limit}</td>
                  <td>{percent === undefined ? '' : <Bar label="Share" percent={percent} text={`${percent} %`} />}</td>
                  <td>{limit === 'none' ? '' : setBy}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Help
        text={
          session.who.kind === 'admin'
            ? `To set them: PUT /api/v1/tenants/${id}/quotas with for example {"memory": 1073741824}; null lifts a limit.`
            : 'Administrators of the platform set them: ask there for more.'
        }
      />
    </>
  );
}

const FULL = 50;
const SHOWN = 5;

/** Quotas that are half used or more; nothing where there is none. */
export function FullQuotas({ session }: { readonly session: OpenSession }) {
  const quotas = useQuotas(session);
  const rows = quotas.value ? listQuotas(quotas.value).filter(({ percent = 0 }) => percent >= FULL) : [];
  if (rows.length === 0) return null;
  return (
    <Panel title="Quotas that are half used" aside={<a href="#/quotas">All quotas</a>}>
      {rows.slice(0, SHOWN).map(({ name, used, limit, percent = 0 }) => (
        <Bar key={name} label={name} percent={percent} text={`${used} of ${limit}`} />
      ))}
    </Panel>
  );
}
