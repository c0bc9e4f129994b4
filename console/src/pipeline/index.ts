/** Pipelines: stages that process one file each, their executions, the files that go in and come out. */
import { Archive, Bug, Copy, FileImage, FileInput, FileText, Hash, Image, Info, Layers, Scaling, ScanText, Sheet, Split, Terminal } from "lucide-react";
import { lazy } from "react";
import type { Language } from "../languages/contract";
import { letters } from "./deadMessages";
import { ADDRESSES } from "./requests";

export const pipeline: Language = {
  name: "pipeline",
  icon: FileInput,
  nodeIcons: {
    Copy, Checksum: Hash, MetadataExtractor: Info, TextExtractor: FileText, ImageResizer: Scaling, ImageThumbnail: Image, ImageConverter: Image, CsvToJson: Sheet, HtmlToText: FileText,
    OcrProcessor: ScanText, PdfPages: FileImage, VirusScan: Bug, Archive, Command: Terminal, group: Layers, condition: Split,
  },
  document: { recognises: (document) => "pipeline_code" in document, title: (document) => { const title = document["pipeline_name"]; return typeof title === "string" ? title : undefined; } },
  addresses: ADDRESSES,
  letters,
  rooms: [{
    path: "pipelines", text: (t) => t.pipeline.title, icon: FileInput, permission: "pipeline.read", key: "p",
    Page: lazy(() => import("./Room")), canvas: (parts) => parts[0] !== undefined && parts[0] !== "usage",
  }],
  run: () => import("./run").then(({ runParts }) => runParts),
};
