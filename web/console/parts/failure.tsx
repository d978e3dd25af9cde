// Announces what went wrong. Shows nothing without a message.
export const Failure = ({ message }: { message: string | null }) =>
  message === null ? null : (
    <p role="alert" className="failure">
      {message}
    </p>
  );
