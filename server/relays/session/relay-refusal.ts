// The relay refuses a request, or cannot return an answer. The message is for people in the sandbox.
export class RelayRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
