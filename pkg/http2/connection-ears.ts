/** How much the other side may send before we have made room again. */
export interface Windows {
  readonly stream: number;
  readonly connection: number;
}

/** Hears what becomes of a connection. */
export interface ConnectionEars {
  /** The other side has shown that it speaks HTTP/2. Called once at most. */
  ready(): void;
  /** Nothing more will be said. Called once, after every stream has ended. */
  closed(cause: Error | undefined): void;
}
