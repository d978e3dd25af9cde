import "../styles/editor/viewers.css";
import { Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { IconButton } from "../parts/icon-button.tsx";
import { formatBytes } from "../text/paths.ts";

interface ImageViewerProps {
  name: string;
  src: string;
  // In bytes.
  size: number;
  // More controls.
  children?: ReactNode;
}

const STEP = 1.25;
const MIN_ZOOM = 0.05;
const MAX_ZOOM = 32;

// A picture with its size in pixels. It fits into its place until the person zooms.
export default function ImageViewer({ name, src, size, children }: ImageViewerProps) {
  const stage = useRef<HTMLDivElement>(null);
  const image = useRef<HTMLImageElement>(null);
  const [pixels, setPixels] = useState<{ width: number; height: number } | null>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const [failed, setFailed] = useState(false);

  const zoomBy = (factor: number) =>
    setZoom((now) => {
      const current = now ?? (image.current && pixels ? image.current.clientWidth / pixels.width : 1);
      return Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, current * factor));
    });
  const zooming = useRef(zoomBy);
  zooming.current = zoomBy;

  // React's own handler is passive, so it could not keep the browser from zooming the page.
  useEffect(() => {
    const element = stage.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zooming.current(event.deltaY < 0 ? STEP : 1 / STEP);
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, []);

  const style = zoom === null || pixels === null ? {} : { width: pixels.width * zoom, maxWidth: "none", maxHeight: "none" };
  return (
    <div className="viewer">
      <div className="viewer-bar">
        <IconButton label="Zoom out" onClick={() => zoomBy(1 / STEP)}>
          <ZoomOut size={15} />
        </IconButton>
        <IconButton label="Zoom in" onClick={() => zoomBy(STEP)}>
          <ZoomIn size={15} />
        </IconButton>
        <IconButton label="Fit" aria-pressed={zoom === null} onClick={() => setZoom(null)}>
          <Maximize size={15} />
        </IconButton>
        <button type="button" className="button small" onClick={() => setZoom(1)}>
          {zoom === null ? "100 %" : `${Math.round(zoom * 100)} %`}
        </button>
        <span className="grow muted truncate">
          {pixels && `${pixels.width} × ${pixels.height} pixels, `}
          {formatBytes(size)}
        </span>
        {children}
      </div>
      <div ref={stage} className="image-view" tabIndex={0} role="group" aria-label={`Picture ${name}`}>
        {failed && <p className="muted">The browser cannot show this picture. The file may be damaged.</p>}
        <img
          ref={image}
          hidden={failed}
          src={src}
          alt={name}
          data-enlarged={zoom !== null && zoom >= 2}
          style={style}
          onError={() => setFailed(true)}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
            setFailed(false);
            setPixels({ width: naturalWidth, height: naturalHeight });
          }}
        />
      </div>
    </div>
  );
}
