import type { DeploymentStep } from '../../crds/deployment/steps.js';
import { findBlockedStep } from '../model/troubles.js';
import { Ago, Empty, Foreign, Help, Output, Pill } from './parts.js';

const MARKS: Readonly<Record<string, string>> = { done: '✓', waiting: '…', pending: '·', 'not needed': '–' };

/** The way of a deployment, the step that waits marked with what it waits for and what to do. */
export function Steps({ steps }: { readonly steps: readonly DeploymentStep[] }) {
  if (steps.length === 0) return <Empty title="The controllers have not looked at it yet" />;
  const blocked = findBlockedStep(steps);
  const waiting = steps.filter(({ state }) => state === 'waiting');
  return (
    <>
      <ol class="steps">
        {steps.map(step => (
          <li
            key={step.step}
            class={`step ${step.state.replace(' ', '-')} ${step === blocked ? 'blocked' : ''}`}
            aria-current={step.state === 'waiting' ? 'step' : undefined}
          >
            <span class="mark" aria-hidden="true">
              {step === blocked ? '!' : MARKS[step.state]}
            </span>
            <span class="step-name">{step.step}</span>
            <span class="step-state">{step.state}</span>
            <span class="step-detail">
              <Foreign text={step.detail} />
            </span>
          </li>
        ))}
      </ol>
      {waiting.map(step => (
        <WaitingStep key={step.step} step={step} />
      ))}
    </>
  );
}

function WaitingStep({ step: { step, reason, detail, error, next, since } }: { readonly step: DeploymentStep }) {
  return (
    <div class={`waits ${reason === undefined ? 'busy' : 'bad'}`}>
      <p class="waits-title">
        Waiting at “{step}”{reason !== undefined && <Pill tone="bad" text={reason} />}
        {since !== null && <Ago at={since} />}
      </p>
      <p>
        <Foreign text={detail} />
      </p>
      {error !== undefined && <Output text={error} />}
      {next !== undefined && <Help text={next} />}
    </div>
  );
}
