import { useEffect, useRef, useState } from "react";
import { text } from "../text";
import { Button } from "./button";
import styles from "./message-frame.module.css";

interface MessageFrameProps {
  html: string;
  /** What is shown: the frame's accessible name. */
  title: string;
  /** The width of a phone or of a desktop, in pixels; as wide as there is room without it. */
  width?: number;
}

interface FromFrame {
  type: "ready" | "height" | "link";
  height?: number;
  href?: string;
}

const TALLEST = 4000;

/** A message's HTML as its reader sees it: in a frame that runs no script and reaches neither the page nor the network. */
export function MessageFrame({ html, title, width }: MessageFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [ready, setReady] = useState(false);
  const [height, setHeight] = useState(240);
  const [images, setImages] = useState(false);
  const [link, setLink] = useState<string | null>(null);

  useEffect(() => {
    const listen = (event: MessageEvent<FromFrame>) => {
      if (event.source !== frame.current?.contentWindow) return;
      if (event.data.type === "ready") setReady(true);
      if (event.data.type === "height") setHeight(Math.min(Number(event.data.height) || 0, TALLEST));
      if (event.data.type === "link") setLink(String(event.data.href));
    };
    window.addEventListener("message", listen);
    return () => window.removeEventListener("message", listen);
  }, []);

  useEffect(() => {
    if (ready) frame.current?.contentWindow?.postMessage({ type: "show", html }, "*");
  }, [ready, html]);

  return (
    <div className={styles.frame}>
      {!images && loadsImages(html) && (
        <div className={styles.notice}>
          {text.common.imagesHeld}
          <Button
            small
            onClick={() => {
              setReady(false);
              setImages(true);
            }}
          >
            {text.common.showImages}
          </Button>
        </div>
      )}
      <iframe
        key={String(images)}
        ref={frame}
        title={title}
        src={images ? "/frame.html?images=1" : "/frame.html"}
        sandbox="allow-scripts"
        className={styles.sheet}
        style={{ height, maxWidth: width }}
      />
      {link !== null && (
        <div className={styles.notice} role="status">
          {text.common.linkLeadsTo} <code>{link}</code>
        </div>
      )}
    </div>
  );
}

/** Whether the message asks for images from elsewhere. */
export function loadsImages(html: string): boolean {
  return /<img[^>]+src\s*=\s*["']?(https?:)?\/\//i.test(html) || /url\(\s*["']?(https?:)?\/\//i.test(html);
}
