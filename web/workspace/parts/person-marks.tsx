// Where other people are. `people` has one line for each of them: the colour and the name.
export function PersonMarks({ people }: { people: string }) {
  if (people === "") return null;
  const all = people.split("\n").map((line) => ({ colour: line.slice(0, 1), name: line.slice(2) }));
  const names = all.map(({ name }) => name).join(", ");
  return (
    <span className="person-marks" title={names} role="img" aria-label={`${names} here`}>
      {all.slice(0, 3).map(({ colour }, index) => (
        <i key={index} className={`person-${colour}`} />
      ))}
    </span>
  );
}
