// Announces what went wrong; nothing if nothing did.
export const Failure = ({ message }: { message: string | null }) =>
  message === null ? null : (
    <p role="alert" className="failure">
      {message}
    </p>
  );
