/** The words of these screens beside those of all: they come with the screens, so that the first view stays small. */
import { useWords, type Words } from "../words";
import { deploymentsEn } from "../words/deployments.en";
import { deploymentsKo, type DeploymentWords } from "../words/deployments.ko";
import { en } from "../words/en";
import { ko, type Dictionary } from "../words/ko";

export type DeployDictionary = Dictionary & { deployments: DeploymentWords };

const KO: DeployDictionary = { ...ko, deployments: deploymentsKo };
const EN: DeployDictionary = { ...en, deployments: deploymentsEn };

export function useDeployWords(): Omit<Words, "t"> & { t: DeployDictionary } {
  const words = useWords();
  return { ...words, t: words.locale === "ko" ? KO : EN };
}
