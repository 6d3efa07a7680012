import { InterceptingCall, type InterceptorOptions, type NextCall } from '@grpc/grpc-js';
import { noop } from 'cockatiel';
import { Etcd3, type IOptions } from 'etcd3';

import type { TlsMaterial } from './etcd-connection.js';

/**
 * etcd3 as a mere transport for leases: no retries, no circuit breaker, a deadline on every call, pings
 * on open streams, no limit on the size of an answer. Its own `watch()`, `lock()` and `election()` lose events and
 * leaders and are used nowhere.
 */
export function rawClients(endpoints: readonly string[], tls: TlsMaterial, callDeadlineMs: number): Etcd3 {
  const grpcOptions = {
    'grpc.keepalive_time_ms': 5_000,
    'grpc.keepalive_timeout_ms': 2_000,
    'grpc.max_receive_message_length': -1,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1_000,
    interceptors: [requireLeader],
  };
  return new Etcd3({
    hosts: [...endpoints],
    faultHandling: { global: noop, host: () => noop },
    defaultCallOptions: call => (call.isStream ? {} : { deadline: new Date(Date.now() + callDeadlineMs) }),
    grpcOptions: grpcOptions as unknown as NonNullable<IOptions['grpcOptions']>,
    ...(endpoints.some(endpoint => endpoint.startsWith('https:')) ? { credentials: credentialsOf(tls) } : {}),
  });
}

/** A member that is cut off from the others must end its streams, not keep silent. */
function requireLeader(options: InterceptorOptions, nextCall: NextCall): InterceptingCall {
  return new InterceptingCall(nextCall(options), {
    start(metadata, listener, next) {
      metadata.set('hasleader', 'true');
      next(metadata, listener);
    },
  });
}

/** Without a CA of ours, those that Node trusts: etcd3's type does not say so, but it hands the value on. */
function credentialsOf({ ca, cert, key }: TlsMaterial): NonNullable<IOptions['credentials']> {
  return {
    rootCertificate: ca as Buffer,
    ...(key ? { privateKey: key } : {}),
    ...(cert ? { certChain: cert } : {}),
  };
}
