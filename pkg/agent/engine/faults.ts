import { Fault } from '../../fault/index.js';

/** The engine could not be asked, or broke off before it had answered: what it holds is unknown. */
export class EngineUnreachableFault extends Fault {
  readonly retriable = true;
}

/** The engine answered, and the answer was no. */
export class EngineRefusedFault extends Fault {
  readonly retriable = true;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The engine speaks no version of its API that we speak. */
export class EngineUnsupportedFault extends Fault {
  readonly retriable = false;
}

/** A container cannot be made because its image is not there yet: pull it first. */
export class ImageMissingFault extends Fault {
  readonly retriable = true;

  constructor(image: string) {
    super(`the engine does not hold ${image}`);
  }
}

/** The registry would not give the image. */
export class ImagePullFault extends Fault {
  readonly retriable = true;
}

/** Something that is not ours to remove stands under the name. */
export class NameConflictFault extends Fault {
  readonly retriable = true;

  constructor(name: string) {
    super(`the name ${name} is taken on this engine by something that Mooring did not make for this replica`);
  }
}
