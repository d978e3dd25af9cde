export function ChangesPanel() {
  return (
    <div className="panel-head">
      <h2>Changes</h2>
    </div>
  );
}
