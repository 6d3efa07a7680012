import { Fault } from '../../pkg/fault/index.js';

/** A program that we depend on did not start. The message says where its log is. */
export class ProcessStartFault extends Fault {
  readonly retriable = true;
}

/** The demo image could not be made or put into the registry. */
export class ImageUploadFault extends Fault {
  readonly retriable = true;
}
