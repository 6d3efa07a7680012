import { exampleDeployment, defineEntries } from './entry.js';

/** Section 7.2. */
export const healthCheckRejections = defineEntries({
  healthcheck_command_missing: {
    section: '7.2',
    status: 422,
    expected: 'a list of strings: one element holding a shell line, or one element per argument',
    why: 'A check with nothing to run never fails, so it would open every gate that waits on health.',
    remedy: 'Set healthCheck.command.',
    example: exampleDeployment({ healthCheck: { type: 'exec', command: [] } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['curl -fs localhost:8080/health'] } }),
  },

  healthcheck_retries_below_floor: {
    section: '7.2',
    status: 422,
    expected: ({ floor }: { floor: number }) => `an integer of ${floor} or more, or no retries`,
    sample: { floor: 3 },
    why: 'Retries are the only damper before one unhealthy container degrades the whole deployment.',
    remedy: 'Raise retries, or leave it out to take the runtime default.',
    example: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], retries: 1 } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], retries: 3 } }),
  },

  healthcheck_timeout_below_floor: {
    section: '7.2',
    status: 422,
    expected: ({ floor }: { floor: string }) => `a duration of ${floor} or more, such as 15s, or no timeout`,
    sample: { floor: '10s' },
    why: 'A check that overruns is killed with SIGKILL, so a short timeout makes healthy containers look ill.',
    remedy: 'Raise the timeout, or leave it out to take the runtime default of 30s.',
    example: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], timeout: '2s' } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'], timeout: '10s' } }),
  },

  healthcheck_type_inert: {
    section: '7.2',
    status: 422,
    expected: 'exec with a command, or no healthCheck at all',
    why: 'A declaration that creates no check would satisfy every gate that waits on health falsely.',
    remedy: 'Declare an exec check with a command, or leave healthCheck out.',
    example: exampleDeployment({ healthCheck: { type: 'none' } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['/bin/check'] } }),
  },

  healthcheck_type_unsupported: {
    section: '7.2',
    status: 422,
    expected: 'exec',
    why: 'Checks run inside the container, where they need no open port; no other type is carried out.',
    remedy: 'Write the check as a command that runs in the container.',
    example: exampleDeployment({ healthCheck: { type: 'http', command: ['/health'] } }),
    fixed: exampleDeployment({ healthCheck: { type: 'exec', command: ['curl -fs localhost:8080/health'] } }),
  },
});
