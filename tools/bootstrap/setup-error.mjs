/** Something that the reader must do, said in full by the message: no log is shown with it. */
export class SetupError extends Error {
  constructor(message) {
    super(message);
    this.name = 'SetupError';
  }
}
