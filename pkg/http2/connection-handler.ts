/** How much the other side may send before we have made room again. */
export interface Windows {
  readonly stream: number;
  readonly connection: number;
}

/** Hears what becomes of a connection. */
export interface ConnectionHandler {
  /** The other side has shown that it speaks HTTP/2. Called once at most. */
  onReady(): void;
  /** Nothing more will be said. Called once, after every stream has ended. */
  onClose(cause: Error | undefined): void;
}
